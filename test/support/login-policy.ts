/** What the login policy of an instance says at the start, for calls that say all of it. */
export const standardLogin = {
  allowUsernamePassword: true,
  ignoreUnknownUsernames: true,
  passwordlessType: "PASSWORDLESS_TYPE_ALLOWED",
  passwordCheckLifetime: "864000s",
  externalLoginCheckLifetime: "864000s",
  mfaInitSkipLifetime: "0s",
  secondFactorCheckLifetime: "64800s",
  multiFactorCheckLifetime: "43200s",
}

type Get = (name: string, request: object) => Promise<unknown>

/** Lets everybody make an account, also with an organisation of their own. */
export async function allowRegistration(get: Get): Promise<void> {
  const admin = "core.admin.v1.AdminService"
  const policy = { ...standardLogin, allowRegister: true, allowDomainDiscovery: true }
  await get(`${admin}/UpdateLoginPolicy`, policy)
  await get(`${admin}/SetRestrictions`, { disallowPublicOrgRegistration: false })
}
