import { Copyable } from "./detail.tsx"
import { useHouse } from "./house.ts"
import { OnceBox } from "./once-box.tsx"

export type Credentials = {
  readonly name: string
  readonly clientId: string
  /** Empty for applications that can't keep one. */
  readonly clientSecret: string
}

/** What an application needs to know to sign people in. */
export function CredentialsBox({ credentials }: { readonly credentials: Credentials }) {
  const { t } = useHouse()
  const { name, clientId, clientSecret } = credentials
  return (
    <div className="stack">
      <dl className="facts">
        <dt>{t("field.issuer")}</dt>
        <dd>
          <Copyable value={location.origin} what={t("field.issuer")} />
        </dd>
        <dt>{t("field.client_id")}</dt>
        <dd>
          <Copyable value={clientId} what={t("field.client_id")} />
        </dd>
      </dl>
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
