import { policy } from "./kind.ts"

export type DomainPolicy = {
  /** Whether a user name is no login name without a domain behind it. */
  readonly userLoginMustBeDomain: boolean
  /** Whether a domain counts only once it is proven. */
  readonly validateOrgDomains: boolean
  /** Whether mails come from an address of the instance's own domain alone. */
  readonly smtpSenderAddressMatchesInstanceDomain: boolean
  /** Whether users can change their own user name, by which programs may identify them. */
  readonly usersCanRename: boolean
}

/** What login names and domains must be. */
export const domainPolicy = policy<DomainPolicy>({
  kind: "domain",
  standard: {
    userLoginMustBeDomain: false,
    validateOrgDomains: false,
    smtpSenderAddressMatchesInstanceDomain: false,
    usersCanRename: false,
  },
  check: () => {},
})

export type NotificationPolicy = {
  readonly passwordChange: boolean
  /** Whether also of a sign-in on a device that is new. */
  readonly newDevice: boolean
}

/** What people are written to about. */
export const notification = policy<NotificationPolicy>({
  kind: "notification",
  standard: { passwordChange: true, newDevice: false },
  check: () => {},
})
