/** Wraps an object so that some of its methods are replaced. Everything else goes to the object itself. */

const TARGET = Symbol("target");

interface Wrapper {
  [TARGET]: object;
}

interface Shape {
  make: new (target: object) => Wrapper;
  methods: readonly PropertyKey[];
}

/**
 * The wrappers of all objects that have the same members share one class. A Proxy, or a class for each wrapper, would be new to the
 * compiler in every history, and histories spend much of their time in calls through wrappers.
 */
const shapes = new WeakMap<object, Map<string, Shape>>();

export function overriding<T extends object>(target: T, overrides: Partial<T>): T {
  const { make, methods } = shapeOf(target);
  const wrapped = new make(target);
  for (const name of methods) {
    const method = Reflect.get(target, name) as (...given: unknown[]) => unknown;
    define(wrapped, name, Reflect.get(overrides, name) ?? method.bind(target));
  }
  for (const name of Reflect.ownKeys(overrides))
    if (!Object.hasOwn(wrapped, name)) define(wrapped, name, Reflect.get(overrides, name));
  return wrapped as T;
}

function define(wrapped: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(wrapped, name, { value, writable: true, enumerable: true, configurable: true });
}

function shapeOf(target: object): Shape {
  const type = Object.getPrototypeOf(target) as object;
  let known = shapes.get(type);
  if (!known) {
    known = new Map();
    shapes.set(type, known);
  }
  const own = Reflect.ownKeys(target)
    .map((name) => `${String(name)} ${typeof Reflect.get(target, name)}`)
    .join();
  let shape = known.get(own);
  if (!shape) {
    shape = newShape(target);
    known.set(own, shape);
  }
  return shape;
}

/** Methods are bound for each wrapper. Other members are read from the target each time, since they may change. */
function newShape(target: object): Shape {
  class Wrapping implements Wrapper {
    [TARGET]: object;

    constructor(wrapped: object) {
      this[TARGET] = wrapped;
    }
  }
  const methods: PropertyKey[] = [];
  for (const name of membersOf(target)) {
    if (isMethod(target, name)) methods.push(name);
    else
      Object.defineProperty(Wrapping.prototype, name, {
        get(this: Wrapper) {
          return Reflect.get(this[TARGET], name);
        },
        set(this: Wrapper, value: unknown) {
          Reflect.set(this[TARGET], name, value);
        },
      });
  }
  return { make: Wrapping, methods };
}

function membersOf(target: object): Set<PropertyKey> {
  const names = new Set<PropertyKey>();
  for (let at: object | null = target; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Reflect.ownKeys(at)) if (name !== "constructor" && name !== TARGET) names.add(name);
  return names;
}

/** A getter is not called for this, since what it returns may be a function only for now. */
function isMethod(target: object, name: PropertyKey): boolean {
  for (let at: object | null = target; at; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found) return typeof found.value === "function";
  }
  return false;
}
