import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { ConfirmButton } from "../form/confirm.tsx"
import { call, useRead } from "../shell/call.ts"
import { Section } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { KeyList } from "./key-list.tsx"
import { andSignIn } from "./sign-in-again.ts"

/** Accounts elsewhere that sign one in here; nothing where there is none. */
export function LinkedAccounts() {
  const { t } = useText()
  const { result } = useRead(AuthService.method.listMyLinkedIDPs)
  if (result.length === 0) return null
  const links = result.map(({ idpId, idpName, providedUserId, providedUserName }) => ({
    id: `${idpId}/${providedUserId}`,
    name: `${idpName}: ${providedUserName || providedUserId}`,
    link: { idpId, linkedUserId: providedUserId },
  }))
  return (
    <Section title={t("account.linked.title")}>
      <p className="quiet section-lead">{t("account.linked.text")}</p>
      <KeyList
        keys={links}
        none=""
        remove={({ name, link }) => (
          <ConfirmButton
            needs="own"
            small
            label={t("account.linked.remove")}
            what={name}
            consequence={t("account.linked.remove_text")}
            act={() => andSignIn(call(AuthService.method.removeMyLinkedIDP, link))}
          />
        )}
      />
    </Section>
  )
}
