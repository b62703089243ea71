import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"

/** The file operations of a directory, in order. Names are relative to it. */
export type Operation =
  | { readonly kind: "write"; readonly file: string; readonly at: number; readonly data: Buffer }
  | { readonly kind: "cut"; readonly file: string; readonly size: number }
  | { readonly kind: "remove"; readonly file: string }
  /** The start of a sync covers the operations before it, once its end is present. */
  | { readonly kind: "sync begins" | "sync ends"; readonly file: string; readonly by: number }

/** Runs the writer on `folder` under the recorder; returns its disk operations. */
export function recordWriter(folder: string, workshop: string, accounts: number): Operation[] {
  const here = import.meta.dirname
  const library = join(workshop, "disk-recorder.so")
  const record = join(workshop, "record")
  const source = join(here, "disk-recorder.c")
  execFileSync("gcc", ["-shared", "-fPIC", "-O1", "-Wall", "-o", library, source, "-ldl"])
  execFileSync(process.execPath, [join(here, "writer.ts"), folder, `${accounts}`], {
    env: {
      LD_PRELOAD: library,
      RECORD_FOLDER: folder,
      RECORD_FILE: record,
      RECORD_LOOKED_AT: join(folder, "latchkey.db-mark"),
    },
    stdio: ["ignore", "inherit", "inherit"],
  })
  return parse(readFileSync(record))
}

const headLength = 32

function parse(record: Buffer): Operation[] {
  const operations: Operation[] = []
  for (let at = 0; at < record.length; ) {
    const path = at + headLength
    const data = path + record.readUInt32LE(at + 4)
    const end = data + record.readUInt32LE(at + 8)
    const file = basename(record.toString("utf8", path, data))
    const number = Number(record.readBigInt64LE(at + 16))
    operations.push(
      createOperation(
        record.toString("latin1", at, at + 1),
        file,
        number,
        record.subarray(data, end),
      ),
    )
    at = end
  }
  return operations
}

function createOperation(kind: string, file: string, number: number, data: Buffer): Operation {
  switch (kind) {
    case "w":
      if (number < 0) throw new Error(`an append to ${file} has no place; the recorder needs one`)
      return { kind: "write", file, at: number, data }
    case "t":
      return { kind: "cut", file, size: number }
    case "u":
      return { kind: "remove", file }
    case "b":
      return { kind: "sync begins", file, by: number }
    case "e":
      return { kind: "sync ends", file, by: number }
    default:
      throw new Error(`the recorder wrote an operation of kind ${kind}`)
  }
}
