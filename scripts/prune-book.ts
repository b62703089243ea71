import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import {
  clearField,
  clone,
  createRegistry,
  type DescFile,
  type DescMessage,
  getExtension,
  setExtension,
  toBinary,
} from "@bufbuild/protobuf"
import { protoCamelCase } from "@bufbuild/protobuf/reflect"
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  type MethodOptions,
} from "@bufbuild/protobuf/wkt"
import type { BunPlugin } from "bun"
import { access } from "../src/gen/core/options_pb.ts"

const generated = join(import.meta.dir, "..", "src", "gen")

/**
 * Leaves out of a bundle what its sources don't call: a service comes with all of its methods, and
 * those with all of their messages, by name and number. `sources` are the texts that may name them.
 */
export function pruneBook(sources: readonly string[]): BunPlugin {
  return {
    name: "prune the book",
    setup: async (build) => {
      const files = await bookFiles()
      const words = new Set(sources.flatMap((text) => text.match(/\w+/g) ?? []))
      const needed = neededBy(words, files)
      build.onLoad({ filter: /\/src\/gen\/.*_pb\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8")
        const name = path.slice(generated.length + 1).replace(/_pb\.ts$/, "")
        const file = files.find((each) => each.name === name)
        if (!file) throw new Error(`${path} describes no file of the book`)
        const described = toBinary(FileDescriptorProtoSchema, pruned(file, words, needed))
        return {
          // Byte by byte it takes a third less than in base 64, where nothing repeats itself.
          contents: text.replace(
            /(?<=fileDesc\()"[\w+/=-]+"/,
            () => `btoa(${literalOf(described)})`,
          ),
          loader: "ts",
        }
      })
    },
  }
}

/** A text of one character a byte, as a program has it. */
const literalOf = (bytes: Uint8Array): string =>
  JSON.stringify(Buffer.from(bytes).toString("latin1"))

async function bookFiles(): Promise<readonly DescFile[]> {
  const paths = readdirSync(generated, { recursive: true, encoding: "utf8" })
  const modules = await Promise.all(
    paths
      .filter((path) => path.endsWith("_pb.ts"))
      .map((path): Promise<object> => import(join(generated, path))),
  )
  return modules.flatMap((module) => Object.values(module).filter(isFile))
}

const isFile = (value: unknown): value is DescFile =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === "file"

/** Messages and enums that are named, or go with a method that is; with all that is in them. */
function neededBy(words: ReadonlySet<string>, files: readonly DescFile[]): ReadonlySet<string> {
  const needed = new Set<string>()
  const need = (message: DescMessage): void => {
    if (needed.has(message.typeName)) return
    needed.add(message.typeName)
    for (const { message: held, enum: chosen } of message.fields) {
      if (held) need(held)
      if (chosen) needed.add(chosen.typeName)
    }
  }
  for (const desc of createRegistry(...files)) {
    if (desc.kind === "message" && words.has(`${desc.name}Schema`)) need(desc)
    if (desc.kind === "enum" && words.has(`${desc.name}Schema`)) needed.add(desc.typeName)
    // What methods say of themselves, as whom they let in.
    if (desc.kind === "extension" && desc.message) need(desc.message)
    if (desc.kind !== "service") continue
    for (const { localName, input, output } of desc.methods) {
      if (!words.has(localName)) continue
      need(input)
      need(output)
    }
  }
  return needed
}

/** Messages keep their places, by which generated code finds them. */
function pruned(file: DescFile, words: ReadonlySet<string>, needed: ReadonlySet<string>) {
  const proto = clone(FileDescriptorProtoSchema, file.proto)
  for (const [at, message] of proto.messageType.entries()) {
    strip(message, { within: proto.package, needed, spare: `_${at}` })
  }
  for (const [at, one] of proto.enumType.entries()) {
    stripEnum(one, { within: proto.package, needed, spare: `_e${at}` })
  }
  for (const [at, service] of proto.service.entries()) {
    const methods = file.services[at]?.methods ?? []
    service.method = service.method.filter((_, index) => words.has(methods[index]?.localName ?? ""))
    for (const { options } of service.method) if (options) sayLess(options)
  }
  return proto
}

/** Of what is said of a method, pages ask whom it lets in, but not why, or where REST has it. */
function sayLess(options: MethodOptions): void {
  const asked = getExtension(options, access)
  options.$unknown = []
  setExtension(options, access, { ...asked, rankless: "", system: "", proof: [] })
}

type Stripping = {
  readonly within: string
  readonly needed: ReadonlySet<string>
  /** What it is called where nobody asks for it. */
  readonly spare: string
}

/** Answers whether anything of it is needed; of what is not, nothing is left but a short name. */
function strip(message: DescriptorProto, { within, needed, spare }: Stripping): boolean {
  const name = `${within}.${message.name}`
  for (const field of message.field) {
    if (field.options) field.options.$unknown = []
    // Readers make it of the name, where it is not another.
    if (field.jsonName === protoCamelCase(field.name)) {
      clearField(field, FieldDescriptorProtoSchema.field.jsonName)
    }
  }
  const inner = message.nestedType.map((nested, at) =>
    strip(nested, { within: name, needed, spare: `_${at}` }),
  )
  const chosen = message.enumType.map((one, at) =>
    stripEnum(one, { within: name, needed, spare: `_e${at}` }),
  )
  if (needed.has(name) || message.options?.mapEntry) return true
  message.field = []
  message.oneofDecl = []
  const isHolder = [...inner, ...chosen].some(Boolean)
  if (!isHolder) {
    message.name = spare
    message.nestedType = []
    message.enumType = []
  }
  return isHolder
}

function stripEnum(one: EnumDescriptorProto, { within, needed, spare }: Stripping): boolean {
  if (needed.has(`${within}.${one.name}`)) return true
  one.name = spare
  one.value = one.value.slice(0, 1)
  return false
}
