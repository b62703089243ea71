import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { policies } from "../../ui/console/policy/policies.ts"

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Who asks each field of each policy: a file, or "with …" where nothing does so far. */
const asked = new Map(
  readFileSync(new URL("../contract/policies.tsv", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t"))
    .map(([policy, field, by = ""]) => [`${policy}.${field}`, by]),
)

describe.each(policies)("the form for the $name policy", ({ fields, instance, organization }) => {
  const of = instance.get.output.field.policy?.message

  test("offers nothing that nothing asks", () => {
    for (const { name } of fields) {
      expect(asked.get(`${of?.name}.${snake(name)}`), name).toMatch(/^(src|ui)\//)
    }
  })

  test("sends every field that the operations know", () => {
    const { get, inherited, add, update } = organization
    for (const { name } of fields) {
      for (const { output } of [instance.get, get, inherited]) {
        expect(output.field.policy?.message?.field[name], name).toBeDefined()
      }
      for (const { input } of [instance.update, add, update]) {
        expect(input.field[name], name).toBeDefined()
      }
    }
  })
})
