import { useEffect, useRef, useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import {
  assessRedirectUri,
  findRedirectUriError,
  maxUriLength,
} from "../../../src/protocol/redirect-uri.ts"
import { Alert, Button } from "../../kit/index.ts"
import { defineForm } from "../form/index.ts"
import { call, t, useIsPermitted, useRead } from "../shell/index.ts"
import { appTypeOf } from "./protocol.ts"
import { type OidcPart, updateOidc } from "./update-application.ts"
import { needsPrivateHttp, RedirectUriVerdicts } from "./uri-verdicts.tsx"

const { getApplication } = ApplicationService.method

type AddRedirectUriProps = { readonly applicationId: string; readonly uri: string }

/** Offers to register the redirect URI of a rejected request, if it is valid. */
export function AddRedirectUri({ applicationId, uri }: AddRedirectUriProps) {
  const may = useIsPermitted()
  const [open, setOpen] = useState(false)
  const { application } = useRead(getApplication, { applicationId })
  if (application?.configuration.case !== "oidcConfiguration") return null
  const oidc = application.configuration.value
  if (oidc.redirectUris.includes(uri)) return <AddedNotice isNew={open} />
  if (!isAddable(uri) || !may(ApplicationService.method.updateApplication)) return null
  return (
    <div className="row">
      <Button small onClick={() => setOpen(true)}>
        {t("refused.add")}
      </Button>
      {open &&
        addUriForm(
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

/** Replaces the button and takes its focus. */
function AddedNotice({ isNew }: { readonly isNew: boolean }) {
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

/** Received URIs are stored truncated, so URIs of that length are not offered. */
const isAddable = (uri: string) =>
  uri.length < Math.min(maxUriLength, keptLength) && findRedirectUriError(uri, false) === undefined

const keptLength = 500

function addUriForm(part: OidcPart, uri: string) {
  const { application, oidc } = part
  const byOf = (privateHttp: boolean) =>
    ({ appType: appTypeOf(oidc), devMode: oidc.developmentMode, privateHttp }) as const
  const isNewHost = !oidc.redirectUris.some((registered) => hostOf(registered) === hostOf(uri))
  return defineForm({
    initial: { privateHttp: oidc.privateNetworkHttp },
    save: async ({ privateHttp }) => {
      const { applicationId } = application
      // Added to the currently registered URIs, which may have changed since.
      const { application: now } = await call(getApplication, { applicationId })
      const registered =
        now?.configuration.case === "oidcConfiguration" ? now.configuration.value.redirectUris : []
      await updateOidc(part, {
        redirectUris: [...new Set([...registered, uri])],
        privateNetworkHttp: privateHttp,
      })
    },
    // The button is replaced by the confirmation.
    done: () => {},
    disabled: ({ privateHttp }) =>
      assessRedirectUri(uri, byOf(privateHttp), location.origin).verdict === "refused",
    fields: ({ check, values: { privateHttp } }) => (
      <>
        <RedirectUriVerdicts typed={uri} context={byOf(privateHttp)} />
        {(privateHttp || needsPrivateHttp(uri, byOf(privateHttp))) &&
          check("privateHttp", t("field.private_http"), t("new_application.private_http_hint"))}
        {isNewHost && <Alert tone="warning">{t("refused.add_host", { host: hostOf(uri) })}</Alert>}
        <p>{t("refused.add_text")}</p>
      </>
    ),
  })
}

/** The host, or the scheme of a custom-scheme URI. */
const hostOf = (uri: string) =>
  (URL.canParse(uri) && new URL(uri).host) || (uri.split(":")[0] ?? "")
