import { fieldError } from "../../kernel/fault.ts"
import type { ClaimChange } from "../../store/index.ts"

/** A name belongs to one instance: it is what tells whose a request is. */
const nameClaim = "instance_name"

export const takeName = (name: string): ClaimChange => ({
  take: nameClaim,
  key: name,
  everywhere: true,
  taken: {
    id: "instance.domain_taken",
    message: `${name} is a domain of an instance already; a domain belongs to one only`,
  },
})

export const releaseName = (name: string): ClaimChange => ({
  release: nameClaim,
  key: name,
  everywhere: true,
})

const label = /^[a-z0-9_]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Reads the name of a host, in its one form: lower case, and as DNS writes it (RFC 5890). Refuses
 * addresses, ports, wildcards and whatever else is no name.
 */
export function domainOf(field: string, text: string): string {
  const given = text.trim().toLowerCase()
  const isBare = /^[^\s/\\:@?#%*[\]]+$/.test(given) && URL.canParse(`http://${given}`)
  const name = isBare ? new URL(`http://${given}`).hostname : ""
  const labels = name.split(".")
  // A name whose last part is a number is an address (WHATWG URL §3.5).
  const isNumber = /^\d+$/.test(labels.at(-1) ?? "")
  if (name.length <= 253 && labels.every((each) => label.test(each)) && !isNumber) return name
  throw fieldError(
    "instance.domain_invalid",
    field,
    "must be the name of a host, such as id.example.com, without scheme, port or path",
  )
}
