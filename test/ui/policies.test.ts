import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { ManagementService as management } from "../../src/gen/core/management/v1/management_service_pb.ts"
import { policies } from "../../ui/console/policy/policies.ts"

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The reader of each policy field: a file, or "with …" if nothing reads it yet. */
const readerByField = new Map(
  readFileSync(new URL("../contract/policies.tsv", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t"))
    .map(([policy, field, by = ""]) => [`${policy}.${field}`, by]),
)

describe.each(policies)("the form for the $name policy", ({ fields, instance, organization }) => {
  const of = instance.get.output.field.policy?.message

  test("contains no field that is never read", () => {
    for (const { name } of fields) {
      expect(readerByField.get(`${of?.name}.${snake(name)}`), name).toMatch(/^(src|ui)\//)
    }
  })

  // Files and identity providers are edited on other pages.
  test("contains every field that is read, except files and providers", () => {
    const isAsked = (name: string) =>
      /^(src|ui)\//.test(readerByField.get(`${of?.name}.${name}`) ?? "")
    const isElsewhere = (name: string) => name.includes("_url") || name === "idps"
    const known = of?.fields.filter(({ name }) => isAsked(name) && !isElsewhere(name)) ?? []
    const names = fields.map(({ name }) => name)
    expect(names.toSorted()).toEqual(known.map(({ localName }) => localName).toSorted())
  })

  test("sends every field of the operation", () => {
    const { get, inherited, add, update } = organization
    for (const field of fields) {
      const { name } = field
      for (const { output } of [instance.get, get, inherited]) {
        expect(output.field.policy?.message?.field[name], name).toBeDefined()
      }
      expect(add.input.field[name], name).toBeDefined()
      for (const { input } of field.kind === "several" ? [] : [instance.update, update]) {
        expect(input.field[name], name).toBeDefined()
      }
    }
  })
})

test("every policy that an organization can override has a form", () => {
  const own = management.methods.filter(({ name }) => /^AddCustom\w+Policy$/.test(name))
  const without = own.filter((method) => policies.every((one) => one.organization.add !== method))
  expect(without.map(({ name }) => name)).toEqual([])
})
