/** The login policy of a new instance, for calls that require all fields. */
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

/** Enables registration, including that of organizations. */
export async function allowRegistration(get: Get): Promise<void> {
  const admin = "core.admin.v1.AdminService"
  const policy = { ...standardLogin, allowRegister: true, allowDomainDiscovery: true }
  await get(`${admin}/UpdateLoginPolicy`, policy)
  await get(`${admin}/SetRestrictions`, { disallowPublicOrgRegistration: false })
}
