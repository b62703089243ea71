import { useEffect, useRef, useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { judge, malformationOf, uriLengthMax } from "../../../src/protocol/redirect-uri.ts"
import { Alert, Button } from "../../kit/index.ts"
import { formOf } from "../form/index.ts"
import { call, t, useMay, useRead } from "../shell/index.ts"
import { appTypeOf } from "./protocol.ts"
import { changeOidc, type OidcPart } from "./update-application.ts"
import { RedirectUriVerdicts, wantsPrivateHttp } from "./uri-verdicts.tsx"

const { getApplication } = ApplicationService.method

type AddProps = { readonly applicationId: string; readonly uri: string }

/** Offers to register what an application was refused with, where it can be registered at all. */
export function AddRedirectUri({ applicationId, uri }: AddProps) {
  const may = useMay()
  const [open, setOpen] = useState(false)
  const { application } = useRead(getApplication, { applicationId })
  if (application?.configuration.case !== "oidcConfiguration") return null
  const oidc = application.configuration.value
  if (oidc.redirectUris.includes(uri)) return <Added isNew={open} />
  if (!isAddable(uri) || !may(ApplicationService.method.updateApplication)) return null
  return (
    <div className="row">
      <Button small onClick={() => setOpen(true)}>
        {t("refused.add")}
      </Button>
      {open &&
        addForm(
          { application, oidc },
          uri,
        )({
          id: `add-redirect-uri:${uri}`,
          title: t("refused.add"),
          submit: t("refused.add"),
          close: () => setOpen(false),
        })}
    </div>
  )
}

/** In the place of what was pressed, with the focus that was there. */
function Added({ isNew }: { readonly isNew: boolean }) {
  const ref = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (isNew) ref.current?.focus()
  }, [isNew])
  return (
    <p ref={ref} tabIndex={-1} className="quiet small">
      {t("refused.added")}
    </p>
  )
}

/** What was received is kept shortened: nothing that may have been cut is registered. */
const isAddable = (uri: string) =>
  uri.length < Math.min(uriLengthMax, keptLength) && malformationOf(uri, false) === undefined

const keptLength = 500

function addForm(part: OidcPart, uri: string) {
  const { application, oidc } = part
  const byOf = (privateHttp: boolean) =>
    ({ appType: appTypeOf(oidc), devMode: oidc.developmentMode, privateHttp }) as const
  const isNewHost = !oidc.redirectUris.some((known) => hostOf(known) === hostOf(uri))
  return formOf({
    initial: { privateHttp: oidc.privateNetworkHttp },
    save: async ({ privateHttp }) => {
      const { applicationId } = application
      // Beside what is registered now, whoever has changed that since.
      const { application: now } = await call(getApplication, { applicationId })
      const known =
        now?.configuration.case === "oidcConfiguration" ? now.configuration.value.redirectUris : []
      await changeOidc(part, {
        redirectUris: [...new Set([...known, uri])],
        privateNetworkHttp: privateHttp,
      })
    },
    // What was pressed makes place for the word that it is done.
    done: () => {},
    disabled: ({ privateHttp }) =>
      judge(uri, byOf(privateHttp), location.origin).verdict === "refused",
    fields: ({ check, values: { privateHttp } }) => (
      <>
        <RedirectUriVerdicts typed={uri} by={byOf(privateHttp)} />
        {(privateHttp || wantsPrivateHttp(uri, byOf(privateHttp))) &&
          check("privateHttp", t("field.private_http"), t("new_application.private_http_hint"))}
        {isNewHost && <Alert tone="warning">{t("refused.add_host", { host: hostOf(uri) })}</Alert>}
        <p>{t("refused.add_text")}</p>
      </>
    ),
  })
}

/** The host, or the scheme of an application that has its own. */
const hostOf = (uri: string) =>
  (URL.canParse(uri) && new URL(uri).host) || (uri.split(":")[0] ?? "")
