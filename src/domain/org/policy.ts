/** What an instance wants of login names and domains. */
export type DomainPolicy = {
  /** Whether a user name is no login name without a domain behind it. */
  readonly userLoginMustBeDomain: boolean
  /** Whether a domain counts only once it is proven. */
  readonly validateOrgDomains: boolean
}

/** What holds where nobody has said anything else, which nobody can yet. */
export const standardPolicy: DomainPolicy = {
  userLoginMustBeDomain: false,
  validateOrgDomains: false,
}
