/** The address of the counter: below all memory that WebAssembly compilers use. */
const counterAt = 512

/**
 * The maximum number of loop iterations until the engine checks its time limit again: the work of
 * 0.1 to 1 second, which is all a script may use.
 */
const iterationsMax = 100_000_000

/** The error of an engine that has used all its iterations. */
export const outOfIterations = "a call in the script made more than 100 million loop iterations"

/** Resets the iteration counter of an engine. */
export function allowIterations({ buffer }: WebAssembly.Memory): void {
  new Int32Array(buffer, counterAt, 1)[0] = iterationsMax
}

/** Whether an engine stopped because it used all its iterations. */
export const isOutOfIterations = ({ buffer }: WebAssembly.Memory): boolean =>
  new Int32Array(buffer, counterAt, 1)[0] === 0

/**
 * Returns a WebAssembly module that counts down the iterations of all its loops in its memory and
 * traps at zero. The runtime can't terminate a thread while its module makes no outside call:
 * `join` of a long array, one call in a script, would block its thread for minutes.
 */
export function withLoopLimit(module: Uint8Array): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [module.subarray(0, headerBytes)]
  const reader: Reader = { bytes: module, at: headerBytes }
  while (reader.at < module.length) {
    const id = readByte(reader)
    const size = readNumber(reader)
    const section = module.subarray(reader.at, reader.at + size)
    const content = id === codeSection ? rewriteCode(section) : section
    parts.push(Uint8Array.of(id), encodeLeb(content.length), content)
    reader.at += size
  }
  return new Uint8Array(Buffer.concat(parts))
}

/** WebAssembly 2.0 §5.5.16: the magic number and the version. */
const headerBytes = 8
/** §5.5.2. */
const codeSection = 10

function rewriteCode(section: Uint8Array): Uint8Array {
  const reader: Reader = { bytes: section, at: 0 }
  const count = readNumber(reader)
  const parts: Uint8Array[] = [encodeLeb(count)]
  for (let each = 0; each < count; each++) {
    const size = readNumber(reader)
    const body = rewriteBody(section.subarray(reader.at, reader.at + size))
    parts.push(encodeLeb(body.length), body)
    reader.at += size
  }
  return Buffer.concat(parts)
}

function rewriteBody(body: Uint8Array): Uint8Array {
  const reader: Reader = { bytes: body, at: 0 }
  for (let locals = readNumber(reader); locals > 0; locals--) {
    readNumber(reader)
    readByte(reader)
  }
  const parts: Uint8Array[] = []
  let from = 0
  while (reader.at < body.length) {
    if (!skipInstruction(reader)) continue
    parts.push(body.subarray(from, reader.at), countIteration)
    from = reader.at
  }
  return Buffer.concat([...parts, body.subarray(from)])
}

/** Bytes and the position of the next read. */
type Reader = { readonly bytes: Uint8Array; at: number }

const readByte = (reader: Reader): number => reader.bytes[reader.at++] ?? 0

/** §5.2.2: LEB128; of a negative number only the length matters. */
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

function encodeLeb(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80)
  return Uint8Array.from([...bytes, rest])
}

/** §5.4: opcodes that are followed by more than a fixed count of numbers. */
const [loop, brTable, selectTyped, f32Const, f64Const, prefixed] = [
  0x03, 0x0e, 0x1c, 0x43, 0x44, 0xfc,
] as const

/** The count of numbers after an opcode; 255 if the opcode is unknown. */
const operandCounts = new Uint8Array(256).fill(255)
for (const [count, ranges] of [
  // Control, parametric and numeric instructions, and ref.is_null.
  [0, [0x00, 0x01, 0x05, 0x05, 0x0b, 0x0b, 0x0f, 0x0f, 0x1a, 0x1b, 0x45, 0xc4, 0xd1, 0xd1]],
  // Blocks, branches, calls, variables, tables, memory size, constants, references.
  [1, [0x02, 0x04, 0x0c, 0x0d, 0x10, 0x10, 0x20, 0x26, 0x3f, 0x42, 0xd0, 0xd0, 0xd2, 0xd2]],
  // call_indirect, loads and stores.
  [2, [0x11, 0x11, 0x28, 0x3e]],
] as const) {
  for (let each = 0; each < ranges.length; each += 2) {
    operandCounts.fill(count, ranges[each], (ranges[each + 1] ?? 0) + 1)
  }
}

/** §5.4.7: the same after the prefix: truncations, bulk memory and table operations. */
const prefixedOperandCounts = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1]

/** Skips one instruction; returns true for the start of a loop. */
function skipInstruction(reader: Reader): boolean {
  const opcode = readByte(reader)
  if (opcode === brTable) skipNumbers(reader, readNumber(reader) + 1)
  else if (opcode === selectTyped) skipNumbers(reader, readNumber(reader))
  else if (opcode === f32Const) reader.at += 4
  else if (opcode === f64Const) reader.at += 8
  else skipNumbers(reader, operandCountOf(opcode, reader))
  return opcode === loop
}

function operandCountOf(opcode: number, reader: Reader): number {
  const count =
    opcode === prefixed ? prefixedOperandCounts[readNumber(reader)] : operandCounts[opcode]
  if (count !== undefined && count !== 255) return count
  throw new Error(`the script engine contains an unknown instruction: ${opcode}`)
}

const pushAddress = [0x41, ...encodeLeb(counterAt)]
const [load, store] = [
  [0x28, 2, 0],
  [0x36, 2, 0],
]

/**
 * if (counter == 0) unreachable; counter = counter - 1. The counter stays at 0, so an engine that
 * continues after a trap traps again.
 */
const countIteration = Uint8Array.from([
  ...pushAddress,
  ...load,
  0x45,
  0x04,
  0x40,
  0x00,
  0x0b,
  ...pushAddress,
  ...pushAddress,
  ...load,
  0x41,
  1,
  0x6b,
  ...store,
])
