import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
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
  type FieldDescriptorProto,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  type MethodOptions,
  OneofDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt"
import type { Plugin } from "rolldown"
import { access } from "../src/gen/core/options_pb.ts"

const generatedFolder = join(import.meta.dir, "..", "src", "gen")

/** The parts of the API descriptors that sources use: all sources, or those of one folder. */
type UsedParts = { readonly words: ReadonlySet<string>; readonly needed: ReadonlySet<string> }

/** The v1 services have hundreds of methods and share many messages. */
const firstVersionFile = /\/src\/gen\/core\/\w+(?:\/v1)?\/\w+_pb\.ts$/

/**
 * Removes from a bundle the descriptors that its sources don't use: a service would otherwise
 * include all of its methods and their messages. `sources` are the source texts by path. Each
 * folder gets its own copy of a v1 service, so that a page does not load what others need.
 */
export async function pruneBook(sources: ReadonlyMap<string, string>): Promise<Plugin> {
  const files = await readDescriptorFiles()
  const usedPartsByFolder = new Map<string, UsedParts>()
  const usedPartsOf = (sourceFolder: string): UsedParts => {
    const existing = usedPartsByFolder.get(sourceFolder)
    if (existing) return existing
    const texts = [...sources].filter(
      ([path]) => !sourceFolder || folderNameOf(path) === sourceFolder,
    )
    const words = new Set(texts.flatMap(([, text]) => text.match(/\w+/g) ?? []))
    const usedParts = { words, needed: collectNeeded(words, files) }
    usedPartsByFolder.set(sourceFolder, usedParts)
    return usedParts
  }
  return {
    name: "prune-book",
    resolveId: {
      filter: { id: /_pb\.ts$/ },
      handler: (importPath, importer = "") => {
        const path = join(dirname(importer), importPath)
        const sourceFolder =
          /\?(\w+)$/.exec(importer)?.[1] ?? (sources.has(importer) ? folderNameOf(importer) : "")
        return sourceFolder && firstVersionFile.test(path) ? `${path}?${sourceFolder}` : path
      },
    },
    load: {
      filter: { id: /\/src\/gen\/.*_pb\.ts(\?\w+)?$/ },
      handler: (id) => {
        const [path = "", sourceFolder = ""] = id.split("?")
        const name = path.slice(generatedFolder.length + 1).replace(/_pb\.ts$/, "")
        const file = files.find((each) => each.name === name)
        if (!file) throw new Error(`${path} does not match any API descriptor`)
        return {
          code: rewriteDescriptor(readFileSync(path, "utf8"), file, usedPartsOf(sourceFolder)),
          moduleType: "ts",
        }
      },
    },
  }
}

/** Replaces the descriptor in generated code by one that contains only the used parts. */
function rewriteDescriptor(code: string, file: DescFile, usedParts: UsedParts): string {
  const descriptor = toBinary(FileDescriptorProtoSchema, pruneFile(file, usedParts))
  const usedDependencies = file.dependencies
    .filter((each) => isUsed(each, usedParts.needed))
    .map(constantNameOf)
  return code.replace(
    /(?<=fileDesc\()"[\w+/=-]+"(?:, \[[^\]]*\])?/,
    // As a byte string this compresses to a third less than in base64.
    () => `btoa(${literalOf(descriptor)}), [${usedDependencies.join(", ")}]`,
  )
}

const folderNameOf = (path: string) => basename(dirname(path))

/** A string literal with one character per byte. */
const literalOf = (bytes: Uint8Array): string =>
  JSON.stringify(Buffer.from(bytes).toString("latin1"))

async function readDescriptorFiles(): Promise<readonly DescFile[]> {
  const paths = readdirSync(generatedFolder, { recursive: true, encoding: "utf8" })
  const modules = await Promise.all(
    paths
      .filter((path) => path.endsWith("_pb.ts"))
      .map((path): Promise<object> => import(join(generatedFolder, path))),
  )
  return modules.flatMap((module) => Object.values(module).filter(isFile))
}

const isFile = (value: unknown): value is DescFile =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === "file"

/** The messages and enums that are named or belong to a named method, including nested ones. */
function collectNeeded(
  words: ReadonlySet<string>,
  files: readonly DescFile[],
): ReadonlySet<string> {
  const needed = new Set<string>()
  const addMessage = (message: DescMessage): void => {
    if (needed.has(message.typeName)) return
    needed.add(message.typeName)
    for (const { message: nestedMessage, enum: nestedEnum } of message.fields) {
      if (nestedMessage) addMessage(nestedMessage)
      if (nestedEnum) needed.add(nestedEnum.typeName)
    }
  }
  for (const desc of createRegistry(...files)) {
    if (desc.kind === "message" && words.has(`${desc.name}Schema`)) addMessage(desc)
    if (desc.kind === "enum" && words.has(`${desc.name}Schema`)) needed.add(desc.typeName)
    // Of all method and field options, only `access` is read.
    if (desc.kind === "extension" && desc.name === access.name && desc.message)
      addMessage(desc.message)
    if (desc.kind !== "service") continue
    for (const { localName, input, output } of desc.methods) {
      if (!words.has(localName)) continue
      addMessage(input)
      addMessage(output)
    }
  }
  return needed
}

/** The constant that generated code uses for a file. */
const constantNameOf = ({ name }: DescFile) => `file_${name.replace(/\W/g, "_")}`

/** Whether a file, or one of its dependencies, contains a needed descriptor. */
const isUsed = (file: DescFile, needed: ReadonlySet<string>): boolean =>
  isWellKnownFile(file) ||
  [...createRegistry(file)].some((desc) => desc === access || needed.has(desc.typeName)) ||
  file.dependencies.some((each) => !isWellKnownFile(each) && isUsed(each, needed))

const isWellKnownFile = ({ name }: DescFile) => name.startsWith("google/protobuf/")

/** Messages keep their index, which generated code uses to find them. */
function pruneFile(file: DescFile, { words, needed }: UsedParts) {
  const proto = clone(FileDescriptorProtoSchema, file.proto)
  // Generated code passes the dependencies separately.
  proto.dependency = []
  proto.publicDependency = []
  for (const message of proto.messageType) {
    stripMessage(message, { within: proto.package, needed })
  }
  for (const one of proto.enumType) {
    stripEnum(one, { within: proto.package, needed })
  }
  for (const extension of proto.extension) {
    // Extensions of removed messages are never read.
    if (extension.typeName && !needed.has(extension.typeName.slice(1))) {
      extension.type = FieldDescriptorProto_Type.BYTES
      clearField(extension, FieldDescriptorProtoSchema.field.typeName)
    }
  }
  for (const [at, service] of proto.service.entries()) {
    const methods = file.services[at]?.methods ?? []
    service.method = service.method.filter((_, index) => words.has(methods[index]?.localName ?? ""))
    for (const { options } of service.method) if (options) stripMethodOptions(options)
  }
  return proto
}

/**
 * Of the access rule, pages read who may call the method, but neither the reason nor the REST path.
 */
function stripMethodOptions(options: MethodOptions): void {
  const importPath = getExtension(options, access)
  options.$unknown = []
  setExtension(options, access, { ...importPath, rankless: "", system: "", proof: [] })
}

type StripContext = {
  readonly within: string
  readonly needed: ReadonlySet<string>
}

/** The names of removed descriptors; repeated text compresses well. */
const placeholderNames = { message: "_", enum: "_e" } as const

/** Pages don't read the validation rules of fields. */
function stripFieldOptions(field: FieldDescriptorProto): void {
  if (!field.options) return
  field.options.$unknown = []
  if (toBinary(FieldOptionsSchema, field.options).length === 0)
    clearField(field, FieldDescriptorProtoSchema.field.options)
}

/**
 * Returns whether anything in the message is needed; otherwise replaces it by an empty placeholder.
 */
function stripMessage(message: DescriptorProto, { within, needed }: StripContext): boolean {
  const name = `${within}.${message.name}`
  for (const field of message.field) {
    stripFieldOptions(field)
    // Readers derive the JSON name unless it differs from the default.
    if (field.jsonName === protoCamelCase(field.name)) {
      clearField(field, FieldDescriptorProtoSchema.field.jsonName)
    }
  }
  for (const group of message.oneofDecl) clearField(group, OneofDescriptorProtoSchema.field.options)
  const inner = message.nestedType.map((nested) => stripMessage(nested, { within: name, needed }))
  const nestedEnum = message.enumType.map((one) => stripEnum(one, { within: name, needed }))
  if (needed.has(name) || message.options?.mapEntry) return true
  message.field = []
  message.oneofDecl = []
  const isHolder = [...inner, ...nestedEnum].some(Boolean)
  if (!isHolder) {
    message.name = placeholderNames.message
    message.nestedType = []
    message.enumType = []
  }
  return isHolder
}

function stripEnum(one: EnumDescriptorProto, { within, needed }: StripContext): boolean {
  if (needed.has(`${within}.${one.name}`)) return true
  one.name = placeholderNames.enum
  one.value = one.value.slice(0, 1)
  return false
}
