/** Where the counter is: below all that a compiler for WebAssembly places in memory. */
const counterAt = 512

/**
 * Iterations of loops until an engine is next asked whether its time is over: as much work as a
 * script may do in all, a tenth of a second to one.
 */
const iterationsMax = 100_000_000

/** Why an engine has stopped that has made all its iterations. */
export const outOfIterations = "a call in the script made more than 100 million loop iterations"

/** Allows an engine all its iterations from now on. */
export function allowIterations({ buffer }: WebAssembly.Memory): void {
  new Int32Array(buffer, counterAt, 1)[0] = iterationsMax
}

/** Whether an engine has made all its iterations, and therefore stopped. */
export const isOutOfIterations = ({ buffer }: WebAssembly.Memory): boolean =>
  new Int32Array(buffer, counterAt, 1)[0] === 0

/**
 * Returns a WebAssembly module that counts the iterations of all its loops down in its memory, and
 * traps when none is left. The runtime can't terminate a thread while its module calls nothing
 * outside of itself: `join` of a long array, one call in a script, keeps its thread for minutes.
 */
export function metered(module: Uint8Array): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [module.subarray(0, headBytes)]
  const reader: Reader = { bytes: module, at: headBytes }
  while (reader.at < module.length) {
    const id = readByte(reader)
    const size = readNumber(reader)
    const section = module.subarray(reader.at, reader.at + size)
    const content = id === codeSection ? meteredCode(section) : section
    parts.push(Uint8Array.of(id), leb(content.length), content)
    reader.at += size
  }
  return new Uint8Array(Buffer.concat(parts))
}

/** WebAssembly 2.0 §5.5.16: the magic number and the version. */
const headBytes = 8
/** §5.5.2. */
const codeSection = 10

function meteredCode(section: Uint8Array): Uint8Array {
  const reader: Reader = { bytes: section, at: 0 }
  const count = readNumber(reader)
  const parts: Uint8Array[] = [leb(count)]
  for (let each = 0; each < count; each++) {
    const size = readNumber(reader)
    const body = meteredBody(section.subarray(reader.at, reader.at + size))
    parts.push(leb(body.length), body)
    reader.at += size
  }
  return Buffer.concat(parts)
}

function meteredBody(body: Uint8Array): Uint8Array {
  const reader: Reader = { bytes: body, at: 0 }
  for (let locals = readNumber(reader); locals > 0; locals--) {
    readNumber(reader)
    readByte(reader)
  }
  const parts: Uint8Array[] = []
  let from = 0
  while (reader.at < body.length) {
    if (!skipInstruction(reader)) continue
    parts.push(body.subarray(from, reader.at), oneIteration)
    from = reader.at
  }
  return Buffer.concat([...parts, body.subarray(from)])
}

/** Bytes, and where they are read next. */
type Reader = { readonly bytes: Uint8Array; at: number }

const readByte = (reader: Reader): number => reader.bytes[reader.at++] ?? 0

/** §5.2.2: LEB128; of a negative number only where it ends matters. */
function readNumber(reader: Reader): number {
  let value = 0
  for (let factor = 1; ; factor *= 128) {
    const part = readByte(reader)
    value += (part & 0x7f) * factor
    if (part < 0x80) return value
  }
}

function skipNumbers(reader: Reader, count: number): void {
  for (let each = 0; each < count; each++) readNumber(reader)
}

function leb(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80)
  return Uint8Array.from([...bytes, rest])
}

/** §5.4: opcodes behind which more stands than a known count of numbers. */
const [loop, brTable, selectTyped, f32Const, f64Const, prefixed] = [
  0x03, 0x0e, 0x1c, 0x43, 0x44, 0xfc,
] as const

/** How many numbers stand behind an opcode; 255 for one that is not known here. */
const numbersBehind = new Uint8Array(256).fill(255)
for (const [count, ranges] of [
  // Control, parametric and numeric instructions, and ref.is_null.
  [0, [0x00, 0x01, 0x05, 0x05, 0x0b, 0x0b, 0x0f, 0x0f, 0x1a, 0x1b, 0x45, 0xc4, 0xd1, 0xd1]],
  // Blocks, branches, calls, variables, tables, the size of memory, constants, references.
  [1, [0x02, 0x04, 0x0c, 0x0d, 0x10, 0x10, 0x20, 0x26, 0x3f, 0x42, 0xd0, 0xd0, 0xd2, 0xd2]],
  // call_indirect, and what loads and stores.
  [2, [0x11, 0x11, 0x28, 0x3e]],
] as const) {
  for (let each = 0; each < ranges.length; each += 2) {
    numbersBehind.fill(count, ranges[each], (ranges[each + 1] ?? 0) + 1)
  }
}

/** §5.4.7: the same behind the prefix: truncations, memory and tables in bulk. */
const prefixedNumbers = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1]

/** Steps over one instruction; true for the head of a loop. */
function skipInstruction(reader: Reader): boolean {
  const opcode = readByte(reader)
  if (opcode === brTable) skipNumbers(reader, readNumber(reader) + 1)
  else if (opcode === selectTyped) skipNumbers(reader, readNumber(reader))
  else if (opcode === f32Const) reader.at += 4
  else if (opcode === f64Const) reader.at += 8
  else skipNumbers(reader, knownCount(opcode, reader))
  return opcode === loop
}

function knownCount(opcode: number, reader: Reader): number {
  const count = opcode === prefixed ? prefixedNumbers[readNumber(reader)] : numbersBehind[opcode]
  if (count !== undefined && count !== 255) return count
  throw new Error(`the engine of scripts has an instruction that is not known here: ${opcode}`)
}

const at = [0x41, ...leb(counterAt)]
const [load, store] = [
  [0x28, 2, 0],
  [0x36, 2, 0],
]

/**
 * if (counter == 0) unreachable; counter = counter - 1. It stays at 0: an engine that goes on after
 * a trap would trap again.
 */
const oneIteration = Uint8Array.from([
  ...at,
  ...load,
  0x45,
  0x04,
  0x40,
  0x00,
  0x0b,
  ...at,
  ...at,
  ...load,
  0x41,
  1,
  0x6b,
  ...store,
])
