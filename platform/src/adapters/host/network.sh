#!/bin/sh
# Links its network namespace to the machine's bridge, and to a group's bridge if there is one, and runs the command in it.
#   network.sh BRIDGE LINK HARDWARE-ADDRESS ADDRESS/BITS GATEWAY GROUP-BRIDGE GROUP-LINK GROUP-ADDRESS/BITS GROUP-MTU COMMAND...
# Its parent is still in the machine's own network namespace. The command starts at once, since building a sandbox takes as long as building
# a network. Before the command runs the program it reads a line from descriptor 5, which arrives when the network is ready.
set -eu
bridge=$1 link=$2 hardware=$3 address=$4 gateway=$5 group=$6 group_link=$7 group_address=$8 group_mtu=${9:+mtu $9}
shift 9

connect() {
  nsenter --net="/proc/$PPID/ns/net" ip -batch - <<END
link add name $link master $bridge up type veth peer name eth0 address $hardware netns $$
link set dev $link type bridge_slave isolated on
${group:+link add name $group_link $group_mtu master $group up type veth peer name ens1 $group_mtu address 06${hardware#02} netns $$}
END
  # IPv6 is disabled, so that neither the machine nor a neighbour is reached that way. The program may listen on any port, since all ports
  # are its own.
  echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || true
  echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start 2>/dev/null || true
  ip -batch - <<END
link set dev lo up
address add $address dev eth0
link set dev eth0 up
route add default via $gateway
${group:+address add $group_address dev ens1}
${group:+link set dev ens1 up}
END
  echo connected
}

connect 3<&- 4<&- 6<&- 7<&- 8<&- | exec "$@" 5<&0 </dev/null
