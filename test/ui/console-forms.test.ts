// Every form of the console must define what happens when two administrators use it concurrently.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { methods } from "../acceptance/service.ts"
import { formCases } from "../support/console-form/all.ts"
import { otherForms } from "../support/console-form/others.ts"

const folder = join(import.meta.dirname, "../../ui/console")

/** The code of a file without its imports and declarations. */
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => [file.replaceAll("\\", "/"), readFileSync(join(folder, file), "utf8")] as const)

/** The hook that creates all forms, and its wrapper. */
const formFiles = ["form/use-form.ts", "form/form-of.tsx"]

const formsIn = (text: string): number =>
  text.match(/\b(?:useForm|defineForm)(?:<[^()]*>)?\(/g)?.length ?? 0

const forms = sources
  .filter(([file]) => !formFiles.includes(file))
  .flatMap(([file, text]) => Array.from({ length: formsIn(text) }, (_, at) => `${file} ${at + 1}`))

test("every form of the console has a test with two administrators, or can't conflict", () => {
  const known = [...new Set(formCases.map(({ form }) => form)), ...Object.keys(otherForms)]
  expect(forms.length).toBeGreaterThan(50)
  expect(known.toSorted()).toEqual(forms.toSorted())
})

test("every form with such a test defines both changes, or the conflicting field", () => {
  for (const { form, both, otherChange: theirs, ownChange: mine, same } of formCases) {
    expect(Boolean(both && theirs && mine) || Boolean(same), form).toBe(true)
  }
})

test("no form stores an entered secret", () => {
  const typed = sources.flatMap(([file, text]) =>
    [...text.matchAll(/\bsecret\("(\w+)"/g)].map(([, name = ""]) => ({ file, text, name })),
  )
  expect(typed.length).toBeGreaterThan(5)
  const kept = typed.filter(
    ({ text, name }) => !new RegExp(`\\bsecret: \\[[^\\]]*"${name}"`).test(text),
  )
  expect(kept.map(({ file, name }) => `${file} ${name}`)).toEqual([])
})

test("every form uses the shared hook", () => {
  const others = sources
    .filter(([file, text]) => !file.startsWith("form/") && /<form\b|onSubmit/.test(text))
    .map(([file]) => file)
  expect(others).toEqual([])
})

/** These operations replace stored values without checking the version that the caller has read. */
const uncheckedOperations = [
  "SetMyEmail",
  "SetMyPhone",
  "UpdateMyUserName",
  "RenamePasskey",
  "SetOrganizationMetadata",
]

test("an update checks the version, or the form reads the resource first", () => {
  const text = sources.map(([, code]) => code).join("\n")
  const used = methods.filter(
    ({ name, localName, parent }) =>
      /^(Update|Set|Rename)/.test(name) &&
      !/v3alpha/.test(parent.typeName) &&
      new RegExp(`\\b${localName}\\b`).test(text),
  )
  const isReplacing = /Password|Token$|PrimaryOrgDomain/
  const loose = used
    .filter(({ input, name }) => !input.field.expectedVersion && !isReplacing.test(name))
    .map(({ name }) => name)
  expect([...new Set(loose)].toSorted()).toEqual(uncheckedOperations.toSorted())
  const reading = sources
    .filter(([, code]) => /readBeforeSave: true/.test(code))
    .map(([file]) => file)
  expect(reading.toSorted()).toEqual([
    "account/contact.tsx",
    "account/passkeys.tsx",
    "account/profile-page.tsx",
    "list/metadata.tsx",
    "user/contact.tsx",
  ])
})
