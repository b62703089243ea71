import { linesOf } from "../form/index.ts"
import { tenants, type Values } from "./form-values.ts"
import type { KindName } from "./provider-kind.ts"

/** Who has an account at a provider of a kind; kinds that are left out are of one organization. */
const reaches: Partial<Readonly<Record<KindName, "anyone" | "unknown">>> = {
  google: "anyone",
  apple: "anyone",
  github: "anyone",
  gitlab: "anyone",
  oidc: "unknown",
  oauth: "unknown",
}

/** The tenant that holds all personal Microsoft accounts, which `consumers` stands for. */
const personalAccounts = "9188040d-6c67-4c5b-b112-36a304b66dad"

function hasSeveralTenants({ tenant }: Values): boolean {
  const name = tenant.trim().toLowerCase()
  return Object.hasOwn(tenants, name) || name === personalAccounts
}

/** Whether the provider never states that an address is verified, as it is set up. */
function verifiesNothing(values: Values): boolean {
  if (values.kind === "azureAd") return !values.emailVerified || hasSeveralTenants(values)
  return values.kind === "ldap" && values.ldapEmailVerified.trim() === ""
}

/**
 * What an administrator has to know about the accounts that a provider creates: that anybody can
 * get one, or that nobody can.
 */
export function creationWarningOf(values: Values): "anyone" | "unknown" | "unverified" | undefined {
  if (!values.isCreationAllowed) return undefined
  if (linesOf(values.allowedDomains).length > 0) {
    return verifiesNothing(values) ? "unverified" : undefined
  }
  if (values.kind === "azureAd") return hasSeveralTenants(values) ? "anyone" : undefined
  return reaches[values.kind]
}
