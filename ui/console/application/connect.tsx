import { useSuspenseQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Disclosure } from "../../kit/index.ts"
import { copyableFact, Facts, fetchUpstream, Section, t, ValueList } from "../shell/index.ts"
import { methodOf } from "./api.tsx"
import { appTypeOf, authOf, grantsOf, scopeOf } from "./protocol.ts"
import { isForProxies } from "./proxy-snippets.ts"
import { SamlConnection } from "./saml-connection.tsx"
import { type ClientDescription, type EndpointName, endpointNames } from "./snippet.ts"
import { Snippets } from "./snippet-list.tsx"
import { createSnippets } from "./snippets.ts"
import { TestSignIn } from "./test-sign-in.tsx"
import type { ApplicationPart } from "./update-application.ts"

type ConnectProps = ApplicationPart & {
  /** Available only once, after it was created. */
  readonly secret?: string | undefined
}

/** Connection settings and code snippets for an application. */
export function Connect({ application, secret }: ConnectProps) {
  const { configuration } = application
  switch (configuration.case) {
    case "samlConfiguration":
      return <SamlConnection application={application} saml={configuration.value} />
    case "oidcConfiguration":
    case "apiConfiguration":
      return (
        <ClientSettings application={application} configuration={configuration} secret={secret} />
      )
    default:
      return null
  }
}

type Configuration = Extract<
  ApplicationPart["application"]["configuration"],
  { readonly case: "oidcConfiguration" | "apiConfiguration" }
>

type ClientProps = ConnectProps & { readonly configuration: Configuration }

function ClientSettings({ application, configuration, secret }: ClientProps) {
  const [passphrase] = useState(randomString)
  const { data: upstream } = useSuspenseQuery({
    queryKey: ["upstream"],
    queryFn: fetchUpstream,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { at, introspectionMethods } = useDiscovery()
  const issuer = location.origin
  const { clientId } = configuration.value
  const from: ClientDescription = {
    issuer,
    upstream,
    endpoint: at,
    clientId,
    secret,
    passphrase,
    ...(configuration.case === "apiConfiguration"
      ? describeApi(configuration)
      : describeOidc(configuration)),
  }
  const isPlainPublic = from.auth === "none" && !isForProxies(from.redirectUris)
  return (
    <>
      <Section title={t("applications.connect")}>
        <Facts
          rows={[
            copyableFact(t("field.issuer"), issuer),
            copyableFact(t("field.client_id"), clientId),
          ]}
        />
        {isPlainPublic && <p className="quiet">{t("secret.none")}</p>}
        <Disclosure summary={t("connect.endpoints")}>
          <EndpointList endpoint={at} introspectionMethods={introspectionMethods} />
        </Disclosure>
        <Snippets snippets={createSnippets(from)} />
      </Section>
      {/* The link leaves the page, but a secret is shown only once. */}
      {!from.isApi && secret === undefined && (
        <TestSignIn
          application={application}
          endpoint={at("authorization_endpoint")}
          parameter="client_id"
        />
      )}
    </>
  )
}

type ConfigurationOf<Case> = Extract<Configuration, { readonly case: Case }>

type ConfigurationDescription = Pick<
  ClientDescription,
  "auth" | "isApi" | "appType" | "hasCode" | "redirectUris" | "scope"
>

const describeApi = ({ value }: ConfigurationOf<"apiConfiguration">): ConfigurationDescription => ({
  auth: methodOf(value),
  isApi: true,
  appType: "web",
  hasCode: false,
  redirectUris: [],
  scope: "",
})

const describeOidc = ({
  value,
}: ConfigurationOf<"oidcConfiguration">): ConfigurationDescription => ({
  auth: authOf(value),
  isApi: false,
  appType: appTypeOf(value),
  hasCode: grantsOf(value).includes("authorization_code"),
  redirectUris: value.redirectUris,
  scope: scopeOf(value),
})

const discoveryPath = "/.well-known/openid-configuration"

/** Values of the discovery document, so that only supported features are shown. */
function useDiscovery() {
  const { data } = useSuspenseQuery({
    queryKey: ["discovery"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Record<string, unknown>> =>
      (await fetch(discoveryPath, { signal })).json(),
  })
  const methods = data.introspection_endpoint_auth_methods_supported
  return {
    at: (name: EndpointName) => String(data[name] ?? ""),
    introspectionMethods: Array.isArray(methods) ? methods.map(String) : [],
  }
}

type EndpointListProps = Pick<ClientDescription, "endpoint"> & {
  /** The endpoint supports fewer methods than the token endpoint. */
  readonly introspectionMethods: readonly string[]
}

function EndpointList({ endpoint: at, introspectionMethods }: EndpointListProps) {
  const named = endpointNames.flatMap((name) => {
    const endpoint = copyableFact(t(`connect.${name}`), at(name))
    if (name !== "introspection_endpoint") return [endpoint]
    const methods = <ValueList key="methods" code values={introspectionMethods} />
    return [endpoint, [t("connect.introspection_methods"), methods] as const]
  })
  const discovery = copyableFact(t("connect.discovery"), location.origin + discoveryPath)
  return <Facts rows={[discovery, ...named]} />
}

/** 32 random characters; the generator is also available over plain HTTP. */
function randomString(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}
