#!/bin/sh
# Keeps a program's output, which arrives on standard input, in files of SEGMENT bytes: `output`, `output.1` and so on. The last three files
# stay. It outlives the server, and ends when no process can write any more.
#   keep.sh FOLDER SEGMENT
set -u
folder=$1 segment=$2
number=0
file=$folder/output
# A restarted instance goes on after its earlier output.
for kept in "$folder"/output.*; do
  [ -e "$kept" ] && [ "${kept##*.}" -gt "$number" ] && number=${kept##*.} file=$kept
done

# Starts no program for a new file, which is empty.
size() {
  [ ! -e "$file" ] && echo 0 || { wc -c <"$file" || echo 0; } 2>/dev/null
}

# On a full disk the program goes on and its output is lost. The server reserves some space in the file `reserve`, which is not for output:
# while that file is missing, the server has given up the reserve and the disk is still full.
wait_for_room() {
  while
    [ "$(dd bs=64K count=1 2>/dev/null | wc -c)" -gt 0 ] || exit 0
    sleep 0.2
    [ ! -e "$folder/../../reserve" ]
  do :; done
}

while
  # Unbuffered, so that a reader gets each line when it is written.
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
    # Slows down a program that writes without end: no reader is faster, and the machine wastes no work on output that is thrown away.
    sleep 0.2
  else
    wait_for_room
  fi
done
