import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { PasswordlessType } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import {
  AuthenticationMethodType,
  UserService,
} from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Page, t, useRead } from "../shell/index.ts"
import { LinkedAccounts } from "./linked-accounts.tsx"
import { useMe } from "./me.ts"
import { Passkeys } from "./passkeys.tsx"
import { Password } from "./password.tsx"
import { RecoveryCodes } from "./recovery-codes.tsx"
import { SecondFactors } from "./second-factors.tsx"

/** Sign-in methods: password, passkeys, second factors and recovery codes. */
export function SecurityPage() {
  const me = useMe()
  if (!me) return null
  return (
    <Page title={t("nav.security")} narrow>
      <SecuritySections userId={me.user.id} changed={me.human.passwordChanged} />
    </Page>
  )
}

const { PASSKEY, TOTP, U2F, OTP_SMS, OTP_EMAIL } = AuthenticationMethodType

/** Factors that recovery codes can replace. */
const replaceableFactors = [PASSKEY, TOTP, U2F, OTP_SMS, OTP_EMAIL] as const

type SectionsProps = {
  readonly userId: string
  readonly changed: Parameters<typeof Password>[0]["changed"]
}

function SecuritySections({ userId, changed }: SectionsProps) {
  const { policy } = useRead(AuthService.method.getMyLoginPolicy)
  const method = UserService.method.listAuthenticationMethodTypes
  const { authMethodTypes: ways, recoveryCodesLeft } = useRead(method, { userId })
  return (
    <>
      <Password isSet={ways.includes(AuthenticationMethodType.PASSWORD)} changed={changed} />
      <Passkeys userId={userId} isAllowed={policy?.passwordlessType === PasswordlessType.ALLOWED} />
      <LinkedAccounts />
      <SecondFactors allowed={policy?.secondFactors ?? []} />
      <RecoveryCodes
        userId={userId}
        remaining={recoveryCodesLeft}
        allowed={policy?.secondFactors ?? []}
        isBesideOther={replaceableFactors.some((factor) => ways.includes(factor))}
      />
    </>
  )
}
