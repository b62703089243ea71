import { fieldError } from "../../kernel/fault.ts"
import type { ClaimChange } from "../../store/index.ts"

/** A domain belongs to one instance, because it selects the instance of a request. */
const nameClaim = "instance_name"

export const claimName = (name: string): ClaimChange => ({
  take: nameClaim,
  key: name,
  everywhere: true,
  taken: {
    id: "instance.domain_taken",
    message: `${name} is already a domain of an instance; a domain can belong to only one`,
  },
})

export const releaseName = (name: string): ClaimChange => ({
  release: nameClaim,
  key: name,
  everywhere: true,
})

const label = /^[a-z0-9_]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Parses a host name into lower case and its DNS form (RFC 5890). Throws for IP addresses, ports,
 * wildcards and invalid names.
 */
export function parseDomain(field: string, text: string): string {
  const normalized = text.trim().toLowerCase()
  const isBare = /^[^\s/\\:@?#%*[\]]+$/.test(normalized) && URL.canParse(`http://${normalized}`)
  const name = isBare ? new URL(`http://${normalized}`).hostname : ""
  const labels = name.split(".")
  // A name whose last label is a number is an IP address (WHATWG URL §3.5).
  const isNumber = /^\d+$/.test(labels.at(-1) ?? "")
  if (name.length <= 253 && labels.every((each) => label.test(each)) && !isNumber) return name
  throw fieldError(
    "instance.domain_invalid",
    field,
    "must be a host name such as id.example.com, without scheme, port or path",
  )
}
