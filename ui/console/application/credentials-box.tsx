import { OnceBox } from "../list/once-box.tsx"
import { Copyable, Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"

export type Credentials = {
  readonly name: string
  readonly clientId: string
  /** Empty for applications that can't keep one. */
  readonly clientSecret: string
}

/** What an application needs to know to sign people in. */
export function CredentialsBox({ credentials }: { readonly credentials: Credentials }) {
  const { t } = useText()
  const { name, clientId, clientSecret } = credentials
  const [issuer, id] = [t("field.issuer"), t("field.client_id")]
  return (
    <div className="stack">
      <Facts
        rows={[
          [issuer, <Copyable key="issuer" value={location.origin} what={issuer} />],
          [id, <Copyable key="id" value={clientId} what={id} />],
        ]}
      />
      {clientSecret ? (
        <OnceBox
          title={t("secret.client")}
          secret={clientSecret}
          file={`${name}-client-secret.txt`}
        />
      ) : (
        <p className="quiet">{t("secret.none")}</p>
      )}
    </div>
  )
}
