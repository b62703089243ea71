import { formWithin } from "../../protocol/body.ts"
import { refusedError } from "../error.ts"

/** A message in base64 is a third larger than it is; some signs of that are written as three. */
const formMax = { bytes: 120_000, parameters: 20 }

/** The form that a service provider has had the browser post. */
export async function formOf(request: Request): Promise<URLSearchParams> {
  const form = await formWithin(request, formMax)
  if (form === "other type") throw refusedError("the body must be a form")
  if (form === "too large" || form === "too many") throw refusedError("the form is too large")
  return form
}
