#!/bin/sh
# Keeps what a program writes, which comes on standard input: in files of SEGMENT bytes, `output`, `output.1` and so on, of which the last
# three stay. Outlives the server, and ends when nobody can write any more.
#   keep.sh FOLDER SEGMENT
set -u
folder=$1 segment=$2
number=0
file=$folder/output
# Of an instance that is started again: goes on after what it wrote before.
for kept in "$folder"/output.*; do
  [ -e "$kept" ] && [ "${kept##*.}" -gt "$number" ] && number=${kept##*.} file=$kept
done

# A program is run only where there is a file: a new one is empty.
size() {
  [ ! -e "$file" ] && echo 0 || { wc -c <"$file" || echo 0; } 2>/dev/null
}

# Where there is no room the program goes on, and what it writes is lost. The server holds some room for its own, which is not for this: it
# has let go of it while there is no such file.
wait_for_room() {
  while
    [ "$(dd bs=64K count=1 2>/dev/null | wc -c)" -gt 0 ] || exit 0
    sleep 0.2
    [ ! -e "$folder/../../reserve" ]
  do :; done
}

while
  # Not gathered in a buffer: who waits for a line gets it when it is written.
  stdbuf -o0 head -c "$((segment - $(size)))" 2>/dev/null >>"$file" && room=yes || room=no
  kept=$(size)
  [ "$kept" -ge "$segment" ] || [ "$room" = no ]
do
  if [ "$kept" -ge "$segment" ]; then
    number=$((number + 1))
    file=$folder/output.$number
    case $number in
      1 | 2) ;;
      3) rm -f "$folder/output" ;;
      *) rm -f "$folder/output.$((number - 3))" ;;
    esac
    # Nobody reads faster than this, and nobody is worn out by what is written to be thrown away.
    sleep 0.2
  else
    wait_for_room
  fi
done
