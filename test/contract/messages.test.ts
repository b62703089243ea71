import { type DescField, type DescFile, getOption, ScalarType } from "@bufbuild/protobuf"
import { FieldDescriptorProto_Type } from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { sensitive } from "../../src/gen/core/options_pb.ts"
import { file_core_v1_error } from "../../src/gen/core/v1/error_pb.ts"
import { formatDifferences, tableOf } from "./table.ts"

type Row = {
  readonly kind: string
  readonly type: string
  readonly number: string
  readonly name: string
  readonly field_type: string
  readonly label: string
  readonly deprecated: string
}

/** Every file that the API imports, except Google's and the options. */
function filesOf(files: readonly DescFile[], seen = new Set<DescFile>()): readonly DescFile[] {
  for (const file of files) {
    if (seen.has(file)) continue
    seen.add(file)
    filesOf(file.dependencies, seen)
  }
  return [...seen].filter(({ name }) => name.startsWith("core/") && name !== "core/options")
}

function scalarName(type: ScalarType): string {
  return ScalarType[type].toLowerCase()
}

function typeOf(field: DescField): string {
  if (field.enum) return `enum ${field.enum.typeName}`
  if (field.message) return field.message.typeName
  return field.scalar === undefined ? "?" : scalarName(field.scalar)
}

function labelOf(field: DescField): string {
  if (field.fieldKind === "list") return "repeated"
  if (field.oneof) return `oneof:${field.oneof.name}`
  return field.proto.proto3Optional ? "optional" : ""
}

function rowsOf(file: DescFile): readonly Row[] {
  const messages = [...file.messages]
  for (const message of messages) messages.push(...message.nestedMessages)
  const enums = [...file.enums, ...messages.flatMap((message) => message.nestedEnums)]
  const mark = (deprecated: boolean) => (deprecated ? "deprecated" : "")
  return [
    ...messages.flatMap((message): readonly Row[] => {
      const type = message.typeName
      const empty = { number: "", name: "", field_type: "(no fields)", label: "", deprecated: "" }
      if (message.fields.length === 0) return [{ kind: "message", type, ...empty }]
      return message.fields.map((field) => ({
        kind: "message",
        type,
        number: `${field.number}`,
        name: field.name,
        field_type: typeOf(field),
        label: labelOf(field),
        deprecated: mark(field.deprecated),
      }))
    }),
    ...enums.flatMap(({ typeName, values }) =>
      values.map((value) => ({
        kind: "enum",
        type: typeName,
        number: `${value.number}`,
        name: value.name,
        field_type: "",
        label: "",
        deprecated: mark(value.deprecated),
      })),
    ),
  ]
}

const lineOf = (row: Readonly<Record<string, string>>) =>
  [row.kind, row.type, row.number, row.name, row.field_type, row.label, row.deprecated].join("\t")

const files = filesOf([...allServices.map(({ file }) => file), file_core_v1_error])
const described = files.flatMap(rowsOf).map(lineOf)
const additions = tableOf("proto/additions.tsv")

describe("messages", () => {
  test("match the interface plus the listed additions, by number, name, and type", () => {
    const demanded = [...tableOf("test/contract/messages.tsv"), ...additions].map(lineOf)
    const remedy =
      "what the interface prescribes stands in test/contract/messages.tsv, what is ours in " +
      "proto/additions.tsv, whose last column cites what asks for it"
    expect(formatDifferences(described, demanded), remedy).toEqual([])
  })

  test("cite a section of the specification for each addition", () => {
    expect(additions.filter(({ spec }) => !/^§\d/.test(spec ?? ""))).toEqual([])
  })

  test("use proto's default JSON names", () => {
    const renamed = files
      .flatMap(({ messages }) => messages)
      .flatMap(({ fields }) => fields)
      .filter(({ name, jsonName }) => jsonName !== camel(name))
    expect(renamed.map(String)).toEqual([])
  })

  test("mark every string or bytes field with the name of a secret as sensitive", () => {
    const secretive = /password$|_hash$|^hash$|secret$|^key_content$|_code$/
    const open = files
      .flatMap(({ messages }) => messages.flatMap((each) => [each, ...each.nestedMessages]))
      .flatMap(({ fields }) => fields)
      .filter(({ name, proto }) => secretive.test(name) && isText(proto.type))
      .filter((field) => !getOption(field, sensitive))
    expect(open.map(String)).toEqual([])
  })
})

const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())

const isText = (type: FieldDescriptorProto_Type) =>
  type === FieldDescriptorProto_Type.STRING || type === FieldDescriptorProto_Type.BYTES
