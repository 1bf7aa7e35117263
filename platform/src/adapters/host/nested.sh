#!/bin/sh
# Shows folders below another folder that programs can change, and runs the command with that. It is in a mount namespace of its own.
#   nested.sh FOLDER OUTER COUNT (ro|rw SOURCE PATH)... COMMAND...
# FOLDER is empty and only root reaches it; FOLDER/whole becomes OUTER with the COUNT folders below it. A program may put a link into OUTER at
# any moment, by which a mount would land elsewhere and folders be made on the machine. So each step is looked at after it is taken, and the
# mount is made where this shell then stands, whatever the names lead to by now.
set -euf
mkdir -p "$1/whole" "$1/part"
folder=$(cd -P "$1" && pwd -P)
count=$3
mount --bind "$2" "$folder/whole"
shift 3
while [ "$count" -gt 0 ]; do
  count=$((count - 1))
  mount --bind "$2" "$folder/part"
  # A mount that is bound somewhere else stays read-only there.
  [ "$1" = rw ] || mount -o remount,bind,ro "$folder/part"
  at=$folder/whole
  cd "$at"
  IFS=/
  for name in $3; do
    at=$at/$name
    # Open to all, as all of a volume is.
    mkdir -m 0777 "./$name" 2>/dev/null || true
    if ! cd -P "./$name" 2>/dev/null || [ "$(pwd -P)" != "$at" ]; then
      echo "nothing can be shown at $3 of the volume: something else than a folder is at ${at#"$folder/whole/"}; remove it" >&2
      exit 125
    fi
  done
  unset IFS
  mount --no-canonicalize --bind "$folder/part" .
  cd /
  umount "$folder/part"
  shift 3
done
exec "$@"
