import { linesOf } from "../form/index.ts"
import { type ProviderValues, tenants } from "./form-values.ts"
import type { KindName } from "./provider-kind.ts"

/** Who can have an account at each kind of provider; omitted kinds belong to one organization. */
const accountHolders: Partial<Readonly<Record<KindName, "anyone" | "unknown">>> = {
  google: "anyone",
  apple: "anyone",
  github: "anyone",
  gitlab: "anyone",
  oidc: "unknown",
  oauth: "unknown",
}

/** The tenant of all personal Microsoft accounts, the same as `consumers`. */
const personalTenantId = "9188040d-6c67-4c5b-b112-36a304b66dad"

function hasSeveralTenants({ tenant }: ProviderValues): boolean {
  const name = tenant.trim().toLowerCase()
  return Object.hasOwn(tenants, name) || name === personalTenantId
}

/** Whether the configured provider never returns verified email addresses. */
function neverVerifiesEmail(values: ProviderValues): boolean {
  if (values.kind === "azureAd") return !values.emailVerified || hasSeveralTenants(values)
  return values.kind === "ldap" && values.ldapEmailVerified.trim() === ""
}

/** A warning about the accounts that a provider creates: anyone could get one, or no one can. */
export function findCreationWarning(
  values: ProviderValues,
): "anyone" | "unknown" | "unverified" | undefined {
  if (!values.isCreationAllowed) return undefined
  if (linesOf(values.allowedDomains).length > 0) {
    return neverVerifiesEmail(values) ? "unverified" : undefined
  }
  if (values.kind === "azureAd") return hasSeveralTenants(values) ? "anyone" : undefined
  return accountHolders[values.kind]
}
