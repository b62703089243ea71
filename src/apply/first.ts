import { passwordRuleSets, setupRequest } from "../boot/setup.ts"
import { type Document, documentError } from "./document.ts"
import { isObject } from "./json.ts"
import { mustBeKnown } from "./run.ts"

const fields = ["organization", "owner", "ownerEmail", "ownerPassword"]
/** `length` or `composition`, as --password-rules of `latchkey setup`. */
const optional = ["passwordRules"]

/** Whom an empty folder is set up for; undefined where nothing says it. */
export function firstIn(documents: readonly Document[], publicUrl: string | undefined) {
  const [found, second] = documents.filter(({ content }) => Object.hasOwn(content, "setup"))
  if (!found) return undefined
  const { file, content } = found
  if (second) throw documentError(second.file, `${file} says setup already`)
  const { setup } = content
  if (!isObject(setup)) throw documentError(file, `setup must have ${fields.join(", ")}`)
  mustBeKnown(setup, [...fields, ...optional], file)
  if (publicUrl === undefined) throw documentError(file, "setup takes the setting public_url")
  const { organization: org, ...owner } = setup
  const read = setupRequest.safeParse({ ...owner, org, publicUrl })
  if (read.success) return read.data
  const rules = `passwordRules may be ${passwordRuleSets.join(" or ")}`
  throw documentError(file, `setup must have ${fields.join(", ")}, each a text; ${rules}`)
}
