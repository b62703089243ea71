import { definePolicy } from "./kind.ts"

export type DomainPolicy = {
  /** Whether login names consist of user name and domain. */
  readonly userLoginMustBeDomain: boolean
  /** Whether domains must be verified. */
  readonly validateOrgDomains: boolean
  /** Whether the sender address of emails must belong to a domain of the instance. */
  readonly smtpSenderAddressMatchesInstanceDomain: boolean
  /** Whether users can change their own user name, which applications may use as an identifier. */
  readonly usersCanRename: boolean
}

/** Rules for login names and domains. */
export const domainPolicy = definePolicy<DomainPolicy>({
  kind: "domain",
  standard: {
    userLoginMustBeDomain: false,
    validateOrgDomains: false,
    smtpSenderAddressMatchesInstanceDomain: false,
    usersCanRename: false,
  },
  validate: () => {},
})

export type NotificationPolicy = {
  readonly passwordChange: boolean
  /** Whether users are notified of sign-ins on new devices. */
  readonly newDevice: boolean
}

/** Events that users are notified of. */
export const notification = definePolicy<NotificationPolicy>({
  kind: "notification",
  standard: { passwordChange: true, newDevice: false },
  validate: () => {},
})
