import { useState } from "react"
import { Histories, OneTimeSecret } from "../list/index.ts"
import { LinkButton, Page, t } from "../shell/index.ts"
import { EmailProviders } from "./email-providers.tsx"
import type { CreatedSigningKey } from "./provider.ts"
import { SmsProviders } from "./sms-providers.tsx"

/** What messages go out by: of each kind one is active. */
export function ProvidersPage() {
  const [made, setMade] = useState<CreatedSigningKey | undefined>(undefined)
  const outbox = <LinkButton to="/outbox">{t("nav.outbox")}</LinkButton>
  return (
    <Page title={t("nav.providers")} owner={t("nav.instance")} actions={outbox}>
      <p className="quiet section-lead">{t("providers.lead")}</p>
      {made && (
        <OneTimeSecret
          title={t("providers.signing_key")}
          secret={made.signingKey}
          file={`${made.id}-signing-key.txt`}
        />
      )}
      <EmailProviders onMade={setMade} />
      <SmsProviders onMade={setMade} />
      <Histories of={["emailProviders", "smsProviders"]} />
    </Page>
  )
}
