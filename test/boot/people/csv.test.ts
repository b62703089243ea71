import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { csvEntries } from "../../../src/boot/users/source/csv.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-csv-"))
afterAll(() => rmSync(folder, { recursive: true }))

async function readCsv(text: string) {
  const path = join(folder, "people.csv")
  writeFileSync(path, text)
  const found: unknown[] = []
  for await (const { at, value } of csvEntries(path, (name) => name)) found.push([at, value])
  return found
}

const ada = ["row 2", { name: "Ada, Countess", email: "ada@example.com" }]

test.each([
  ["comma", 'name,email\n"Ada, Countess",ada@example.com\n'],
  ["semicolon", "name;email\nAda, Countess;ada@example.com\n"],
  ["tab", "name\temail\nAda, Countess\tada@example.com\n"],
  ["line of a spreadsheet", "sep=;\r\nname;email\r\nAda, Countess;ada@example.com\r\n"],
  ["quoted line", '"sep=;"\nname;email\nAda, Countess;ada@example.com\n'],
  ["line with another mark", "\ufeffSEP=|\nname|email\nAda, Countess|ada@example.com\n"],
])("fields are separated as in the file: %s", async (_, text) => {
  expect(await readCsv(text)).toEqual([ada])
})
