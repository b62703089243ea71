// Whoever adds a form to the console says what happens when two administrators use it at once.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { methods } from "../acceptance/service.ts"
import { formCases } from "../support/console-form/all.ts"
import { otherForms } from "../support/console-form/others.ts"

const folder = join(import.meta.dirname, "../../ui/console")

/** The code of a file without what it imports and declares. */
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => [file.replaceAll("\\", "/"), readFileSync(join(folder, file), "utf8")] as const)

/** The hook that all forms are made with, and what wraps it. */
const mechanism = ["form/use-form.ts", "form/form-of.tsx"]

const formsIn = (text: string): number =>
  text.match(/\b(?:useForm|formOf)(?:<[^()]*>)?\(/g)?.length ?? 0

const forms = sources
  .filter(([file]) => !mechanism.includes(file))
  .flatMap(([file, text]) => Array.from({ length: formsIn(text) }, (_, at) => `${file} ${at + 1}`))

test("every form of the console is tried by two administrators, or can't contradict", () => {
  const known = [...new Set(formCases.map(({ form }) => form)), ...Object.keys(otherForms)]
  expect(forms.length).toBeGreaterThan(50)
  expect(known.toSorted()).toEqual(forms.toSorted())
})

test("every form that is tried says what both change, or which field they contradict in", () => {
  for (const { form, both, theirs, mine, same } of formCases) {
    expect(Boolean(both && theirs && mine) || Boolean(same), form).toBe(true)
  }
})

test("no form keeps what is typed as a secret", () => {
  const typed = sources.flatMap(([file, text]) =>
    [...text.matchAll(/\bsecret\("(\w+)"/g)].map(([, name = ""]) => ({ file, text, name })),
  )
  expect(typed.length).toBeGreaterThan(5)
  const kept = typed.filter(
    ({ text, name }) => !new RegExp(`\\bsecret: \\[[^\\]]*"${name}"`).test(text),
  )
  expect(kept.map(({ file, name }) => `${file} ${name}`)).toEqual([])
})

test("no form is made in another way", () => {
  const others = sources
    .filter(([file, text]) => !file.startsWith("form/") && /<form\b|onSubmit/.test(text))
    .map(([file]) => file)
  expect(others).toEqual([])
})

/** Such operations replace what is stored, and don't check what their caller has read. */
const unchecked = [
  "SetMyEmail",
  "SetMyPhone",
  "UpdateMyUserName",
  "RenamePasskey",
  "SetOrganizationMetadata",
]

test("what a form updates checks its version, or else the form reads it again before", () => {
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
  expect([...new Set(loose)].toSorted()).toEqual(unchecked.toSorted())
  const reading = sources.filter(([, code]) => /readFirst: true/.test(code)).map(([file]) => file)
  expect(reading.toSorted()).toEqual([
    "account/contact.tsx",
    "account/passkeys.tsx",
    "account/profile-page.tsx",
    "list/metadata.tsx",
    "user/contact.tsx",
  ])
})
