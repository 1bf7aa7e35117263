/** Firewall rules around networks that span machines: only other machines send into them, and nothing leaves unencrypted by mistake. */

export interface SpanRules {
  table: string;
  /** The UDP port at which packets of other machines arrive. */
  port: number;
  /** The link for what is encrypted. */
  wire: string;
  /** The other machines from which packets in clear are taken, and the ports at which they take them. */
  plain: readonly string[];
  ports: readonly number[];
  /** The other machines' addresses inside what is encrypted. */
  inside: readonly string[];
}

/**
 * Programs of this machine leave it with its own address, so another machine would take what they send to its port for this machine's.
 * Therefore nothing is forwarded there. Nothing but packets of networks goes through the encrypted link.
 */
export function spanRuleset({ table, port, wire, plain, ports, inside }: SpanRules): string {
  const ipv4 = plain.filter((address) => !address.includes(":"));
  const ipv6 = plain.filter((address) => address.includes(":"));
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  ${set("plain4", "ipv4_addr", ipv4)}
  ${set("plain6", "ipv6_addr", ipv6)}
  ${set("inside", "ipv6_addr", inside)}
  ${set("ports", "inet_service", ports.map(String))}
  chain input {
    type filter hook input priority -20; policy accept;
    iifname "${wire}" udp dport ${port} accept
    iifname "${wire}" drop
    udp dport ${port} ip saddr @plain4 accept
    udp dport ${port} ip6 saddr @plain6 accept
    udp dport ${port} drop
  }
  chain forward {
    type filter hook forward priority -20; policy accept;
    iifname "${wire}" drop
    oifname "${wire}" drop
    ip daddr @plain4 udp dport @ports drop
    ip6 daddr @plain6 udp dport @ports drop
  }
  chain output {
    type filter hook output priority -20; policy accept;
    ip6 daddr @inside oifname != "${wire}" drop
  }
}
`;
}

const set = (name: string, type: string, elements: readonly string[]) =>
  `set ${name} { type ${type}; ${elements.length > 0 ? `elements = { ${[...new Set(elements)].join(", ")} }` : ""} }`;
