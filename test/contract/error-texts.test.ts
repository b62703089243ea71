import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { causes } from "../../src/domain/refusal/cause.ts"
import first from "../../ui/console/shell/texts/en.json"
import pages from "../../ui/console/shell/texts/pages.en.json"
import { textsBelow } from "../support/tidy-source.ts"

const root = join(import.meta.dirname, "../..")
const keys = [...Object.keys(first), ...Object.keys(pages)]
const keysAfter = (prefix: string) =>
  keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))

/** Whether a program contains an ID, completely or as a template: `app.${field}_invalid`. */
function isNamedIn(program: string, id: string): boolean {
  if (program.includes(`"${id}"`)) return true
  const named = [...program.matchAll(/`([a-z_]+\.[a-z_.]*\$\{[^`]*?\}[a-z_.]*)`/g)]
  return named.some(([, template = ""]) => {
    const form = template.replaceAll(".", "\\.").replace(/\$\{[^}]*\}/g, "[a-z_]+")
    return new RegExp(`^${form}$`).test(id)
  })
}

describe("an error text of the console", () => {
  let program = ""
  beforeAll(() => {
    const isCode = (path: string) => /\.(tsx?|proto)$/.test(path) && !/^ui\/dist\//.test(path)
    const texts = textsBelow(root, ["src", "ui/console", "proto"], isCode)
    program = [...texts.values()].join("\n")
  })

  test("is distinguished from one whose fault no longer exists", () => {
    const code = `throw new Fault("aborted", "room.full"); id = \`room.\${part}_gone\``
    expect(["room.full", "room.key_gone", "room.empty"].map((id) => isNamedIn(code, id))).toEqual([
      true,
      true,
      false,
    ])
  })

  test.each(keysAfter("fault."))("fault.%s belongs to a fault that is thrown", (id) => {
    expect(isNamedIn(program, id)).toBe(true)
  })
})

test("every likely cause of a rejected request has a text in the console, and no other has", () => {
  expect(keysAfter("cause.").toSorted()).toEqual(Object.keys(causes).toSorted())
})
