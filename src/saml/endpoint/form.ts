import { readForm } from "../../protocol/body.ts"
import { rejectedError } from "../error.ts"

/** Base64 adds a third to the size of a message; percent-encoding triples some characters. */
const formMax = { bytes: 120_000, parameters: 20 }

/** The form that a service provider posted through the browser. */
export async function parseForm(request: Request): Promise<URLSearchParams> {
  const form = await readForm(request, formMax)
  if (form === "other type") throw rejectedError("the body must be a form")
  if (form === "too large" || form === "too many") throw rejectedError("the form is too large")
  return form
}
