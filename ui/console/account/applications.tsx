import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { ConfirmButton } from "../form/confirm.tsx"
import { Time } from "../list/time.tsx"
import { call, useRead } from "../shell/call.ts"
import { Section } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"

/** What may act for one while one is away, and what takes that away again. */
export function Applications() {
  const { t } = useText()
  const { result } = useRead(AuthService.method.listMyRefreshTokens)
  return (
    <Section title={t("account.apps.title")}>
      <p className="quiet section-lead">{t("account.apps.text")}</p>
      {result.length === 0 && <p className="quiet">{t("account.apps.none")}</p>}
      <ul className="way-list">
        {result.map(({ id, clientId, authTime, expiration, scopes }) => (
          <li key={id}>
            <div className="way-text">
              <p>
                <bdi>{clientId}</bdi>
              </p>
              <p className="quiet small">
                {scopes.join(", ")} · {t("sessions.since")} <Time at={authTime} /> ·{" "}
                {t("field.expires")} <Time at={expiration} />
              </p>
            </div>
            <ConfirmButton
              needs="own"
              small
              label={t("account.apps.withdraw")}
              what={clientId}
              consequence={t("account.apps.withdraw_text")}
              act={() => call(AuthService.method.revokeMyRefreshToken, { id })}
            />
          </li>
        ))}
      </ul>
    </Section>
  )
}
