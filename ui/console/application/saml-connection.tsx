import type { SAMLConfiguration } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ButtonLink } from "../../kit/index.ts"
import { Copyable, Facts, Section, t } from "../shell/index.ts"
import { samlSnippets } from "./saml-snippets.ts"
import { Snippets } from "./snippet-list.tsx"
import { TestSignIn } from "./test-sign-in.tsx"
import type { ApplicationPart } from "./update-application.ts"

const metadataNs = "urn:oasis:names:tc:SAML:2.0:metadata"

/** Endpoints for SAML applications; the metadata contain them too. */
const endpointPaths = {
  metadata: "/saml/v2/metadata",
  sso: "/saml/v2/SSO",
  slo: "/saml/v2/SLO",
  certificate: "/saml/v2/certificate",
} as const
const endpointNames = ["metadata", "sso", "slo", "certificate"] as const

type ConnectionProps = ApplicationPart & { readonly saml: SAMLConfiguration }

/** This server's values for a SAML application, its registered metadata, and snippets. */
export function SamlConnection({ application, saml }: ConnectionProps) {
  const { entityId, consumers } = parseMetadata(saml.metadataXml)
  const metadata = location.origin + endpointPaths.metadata
  const rolesAttribute = saml.attributes?.rolesAttribute ?? ""
  const described = { entityId, consumers, metadata, rolesAttribute }
  const start = `${endpointPaths.sso}?${new URLSearchParams({ providerId: entityId })}`
  return (
    <>
      <Section title={t("applications.connect")}>
        <p className="quiet section-lead">{t("saml.lead")}</p>
        <Facts
          rows={endpointNames.map((name) => {
            const label = t(`saml.our.${name}`)
            const value = location.origin + endpointPaths[name]
            return [label, <Copyable key={name} value={value} description={label} />]
          })}
        />
        <Snippets snippets={samlSnippets(described)} />
      </Section>
      <RegisteredMetadata saml={saml} entityId={entityId} consumers={consumers} />
      <TestSignIn application={application} endpoint={endpointPaths.sso} parameter="providerId" />
      <Section title={t("saml.try")}>
        <p className="quiet section-lead">{t("saml.try_lead")}</p>
        <div className="row">
          <ButtonLink href={start}>{t("saml.try_do")}</ButtonLink>
        </div>
      </Section>
    </>
  )
}

type RegisteredMetadataProps = {
  readonly saml: SAMLConfiguration
  readonly entityId: string
  readonly consumers: readonly string[]
}

function RegisteredMetadata({ saml, entityId, consumers }: RegisteredMetadataProps) {
  const [entity, consumer] = [t("saml.entity_id"), t("saml.acs")]
  return (
    <Section title={t("saml.registered")}>
      <Facts
        rows={[
          [entity, <Copyable key="entity" value={entityId} description={entity} />],
          [
            consumer,
            <ul key="acs" className="value-list">
              {consumers.map((address) => (
                <li key={address}>
                  <Copyable value={address} description={consumer} />
                </li>
              ))}
            </ul>,
          ],
          [
            t("saml.metadata_url"),
            saml.metadataUrl && <code key="metadata">{saml.metadataUrl}</code>,
          ],
        ]}
      />
    </Section>
  )
}

/** Reads the registered metadata, which the server has validated. */
function parseMetadata(xml: Uint8Array) {
  const text = new TextDecoder().decode(xml)
  const { documentElement: entity } = new DOMParser().parseFromString(text, "application/xml")
  const named = [...entity.getElementsByTagNameNS(metadataNs, "AssertionConsumerService")]
  const addresses = named.map((each) => each.getAttribute("Location") ?? "")
  return { entityId: entity.getAttribute("entityID") ?? "", consumers: [...new Set(addresses)] }
}
