/** The system call filter of programs in the sandbox: a classic BPF program that is assembled here, so no compiler is needed. */

/** The number of a system call on each processor family; undefined where it does not exist. */
interface Call {
  x64: number | undefined;
  arm64: number | undefined;
}

/** System calls that change the machine, look into other processes or the kernel, or widen a program's rights. */
const REFUSED: Record<string, Call> = {
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  reboot: { x64: 169, arm64: 142 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  iopl: { x64: 172, arm64: undefined },
  ioperm: { x64: 173, arm64: undefined },
  init_module: { x64: 175, arm64: 105 },
  delete_module: { x64: 176, arm64: 106 },
  finit_module: { x64: 313, arm64: 273 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: { x64: 443, arm64: 443 },
  syslog: { x64: 103, arm64: 116 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  clock_adjtime: { x64: 305, arm64: 266 },
  adjtimex: { x64: 159, arm64: 171 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  name_to_handle_at: { x64: 303, arm64: 264 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  fanotify_init: { x64: 300, arm64: 262 },
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  kcmp: { x64: 312, arm64: 272 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  uselib: { x64: 134, arm64: undefined },
  ustat: { x64: 136, arm64: undefined },
  sysfs: { x64: 139, arm64: undefined },
  _sysctl: { x64: 156, arm64: undefined },
  vhangup: { x64: 153, arm64: 58 },
  nfsservctl: { x64: 180, arm64: 42 },
  modify_ldt: { x64: 154, arm64: undefined },
};

const CLONE: Call = { x64: 56, arm64: 220 };
const CLONE3: Call = { x64: 435, arm64: 435 };
const SOCKET: Call = { x64: 41, arm64: 198 };
const SOCKET_PAIR: Call = { x64: 53, arm64: 199 };
/** The flags of namespaces that a program may not create: user, mount, UTS, IPC, process, network and cgroup. */
const NEW_NAMESPACES = 0x7e02_0000;
/**
 * The socket families that programs have: local ones, IPv4, IPv6, netlink, and packets, which need a right that no program has. For any
 * other the kernel would load a module because a program asked, and rarely used ones have had most of the holes.
 */
const FAMILIES = [1, 2, 10, 16, 17];

const families = {
  x64: { audit: 0xc000_003e, x32Bit: 0x4000_0000 },
  arm64: { audit: 0xc000_00b7, x32Bit: undefined },
} as const;

export type Processor = keyof typeof families;

export const isFiltered = (processor: string): processor is Processor => processor in families;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff_0000;
const refuse = (error: number) => 0x0005_0000 + error;

const LOAD_WORD = 0x20;
const RETURN = 0x06;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
/** Offsets in `struct seccomp_data`: the system call's number, the architecture, and the low half of the first argument. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;

type Instruction = readonly [code: number, yes: number, no: number, value: number];

const load = (offset: number): Instruction => [LOAD_WORD, 0, 0, offset];
const answer = (value: number): Instruction => [RETURN, 0, 0, value];
/** Answers `value` when the loaded word is equal, otherwise goes on. */
const when = (word: number, value: number): Instruction[] => [[JUMP_EQUAL, 0, 1, word], answer(value)];

/** Answers `value` when the loaded word is none of these, otherwise goes on. */
const unlessOneOf = (words: readonly number[], value: number): Instruction[] => [
  ...words.map((word, index): Instruction => [JUMP_EQUAL, words.length - index, 0, word]),
  answer(value),
];

/** For this system call it checks the first argument and otherwise allows it. Other calls go on. */
function whenCall(number: number, look: Instruction[]): Instruction[] {
  const body = [load(FIRST_ARGUMENT), ...look, answer(ALLOW)];
  return [[JUMP_EQUAL, 0, body.length, number], ...body];
}

/** The filter in the kernel's format, with eight bytes per instruction. */
export function seccompFilter(processor: Processor): Buffer {
  const { audit, x32Bit } = families[processor];
  const refused = Object.values(REFUSED).flatMap((call) => call[processor] ?? []);
  const program: Instruction[] = [
    load(ARCHITECTURE),
    // System calls with another numbering, such as 32-bit ones, would be checked against the wrong table.
    [JUMP_EQUAL, 1, 0, audit],
    answer(refuse(ENOSYS)),
    load(NUMBER),
    ...(x32Bit === undefined ? [] : ([[JUMP_AT_LEAST, 0, 1, x32Bit], answer(refuse(ENOSYS))] as Instruction[])),
    ...refused.flatMap((number) => when(number, refuse(EPERM))),
    // clone3 passes its flags in memory, where a filter cannot look. C libraries then fall back to clone, whose flags it can see.
    ...when(CLONE3[processor]!, refuse(ENOSYS)),
    ...whenCall(CLONE[processor]!, [[JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES], answer(refuse(EPERM))]),
    ...whenCall(SOCKET[processor]!, unlessOneOf(FAMILIES, refuse(EAFNOSUPPORT))),
    ...whenCall(SOCKET_PAIR[processor]!, unlessOneOf(FAMILIES, refuse(EAFNOSUPPORT))),
    answer(ALLOW),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, yes, no, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
