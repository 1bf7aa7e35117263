#!/bin/sh
# Installs the programs that sandbox other programs and limit volumes, if they are missing and this user may do it. Never fails, and prints
# one line.
for tool in bwrap nft ip setpriv mkfs.ext4 xfs_growfs; do
  command -v "$tool" >/dev/null 2>&1 || missing="${missing:-} $tool"
done
[ -n "${missing:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0
echo "millrace: installing bubblewrap, nftables, iproute2, e2fsprogs and xfsprogs, to keep programs apart from this machine and volumes to their sizes ..." >&2
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends bubblewrap nftables iproute2 util-linux e2fsprogs xfsprogs >/dev/null 2>&1; }
# A machine that never fetched the package lists has none.
install || { apt-get update -q >/dev/null 2>&1 && install; } || echo "millrace: that failed; programs may be refused" >&2
exit 0
