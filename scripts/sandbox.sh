#!/bin/sh
# Installs what the host driver keeps programs apart with, where it is missing and this may be done. Never fails, and says one line.
for tool in bwrap nft ip setpriv; do
  command -v "$tool" >/dev/null 2>&1 || missing="${missing:-} $tool"
done
[ -n "${missing:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0
echo "millrace: installing bubblewrap, nftables and iproute2, to keep programs apart from this machine ..." >&2
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends bubblewrap nftables iproute2 util-linux >/dev/null 2>&1; }
# A machine that never asked for the lists of packages has none.
install || { apt-get update -q >/dev/null 2>&1 && install; } || echo "millrace: that failed; programs may be refused" >&2
exit 0
