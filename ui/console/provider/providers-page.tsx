import { useState } from "react"
import { Histories, OneTimeSecret } from "../list/index.ts"
import { LinkButton, Page, t } from "../shell/index.ts"
import { EmailProviders } from "./email-providers.tsx"
import type { CreatedSigningKey } from "./provider.ts"
import { SmsProviders } from "./sms-providers.tsx"

/** Email and SMS providers; one of each can be active. */
export function ProvidersPage() {
  const [created, setMade] = useState<CreatedSigningKey | undefined>(undefined)
  const outbox = <LinkButton to="/outbox">{t("nav.outbox")}</LinkButton>
  return (
    <Page title={t("nav.providers")} owner={t("nav.instance")} actions={outbox}>
      <p className="quiet section-lead">{t("providers.lead")}</p>
      {created && (
        <OneTimeSecret
          title={t("providers.signing_key")}
          secret={created.signingKey}
          file={`${created.id}-signing-key.txt`}
        />
      )}
      <EmailProviders onKeyCreated={setMade} />
      <SmsProviders onKeyCreated={setMade} />
      <Histories of={["emailProviders", "smsProviders"]} />
    </Page>
  )
}
