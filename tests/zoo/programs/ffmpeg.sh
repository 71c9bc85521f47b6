# SPDX-License-Identifier: MIT
# package: ffmpeg
# needs: ffmpeg ffprobe
# records: ffmpeg ffprobe
ffmpeg -v error -nostdin -f lavfi -i testsrc=d=2:s=160x120:r=25 -f lavfi -i sine=d=2 -threads 4 -bitexact -c:v mpeg4 -c:a aac -y a.mp4
ffprobe -v error -show_entries stream=codec_name,nb_frames,width -of compact a.mp4
ffmpeg -v error -nostdin -i a.mp4 -vf scale=80:60,hflip -f framemd5 -bitexact - | tail -n 5
ffmpeg -v error -nostdin -i missing.mp4 -f null - 2>&1 | sed -E 's/0x[0-9a-f]+/ADDRESS/'; echo "${PIPESTATUS[0]}"
