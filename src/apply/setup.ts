import { passwordRuleSets, setupRequest } from "../boot/setup.ts"
import { type Document, documentError } from "./document.ts"
import { isObject } from "./json.ts"
import { requireKnownNames } from "./run.ts"

const requiredFields = ["organization", "owner", "ownerEmail", "ownerPassword"]
/** `length` or `composition`, as for --password-rules of `latchkey setup`. */
const optionalFields = ["passwordRules"]

/** The input for setting up an empty data directory; undefined if no document contains `setup`. */
export function findSetup(documents: readonly Document[], publicUrl: string | undefined) {
  const [found, second] = documents.filter(({ content }) => Object.hasOwn(content, "setup"))
  if (!found) return undefined
  const { file, content } = found
  if (second) throw documentError(second.file, `${file} contains a second setup`)
  const { setup } = content
  if (!isObject(setup)) throw documentError(file, `setup must have ${requiredFields.join(", ")}`)
  requireKnownNames(setup, [...requiredFields, ...optionalFields], file)
  if (publicUrl === undefined) throw documentError(file, "setup requires the setting public_url")
  const { organization: org, ...owner } = setup
  const read = setupRequest.safeParse({ ...owner, org, publicUrl })
  if (read.success) return read.data
  const rules = `passwordRules must be ${passwordRuleSets.join(" or ")}`
  throw documentError(file, `setup must have ${requiredFields.join(", ")}, each a string; ${rules}`)
}
