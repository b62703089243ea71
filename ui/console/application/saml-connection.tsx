import type { SAMLConfiguration } from "../../../src/gen/core/application/v2/application_pb.ts"
import { Copyable, Facts, Section } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"

const metadataNs = "urn:oasis:names:tc:SAML:2.0:metadata"

/** What is registered of a SAML application; nobody can sign in to it yet, and that is said. */
export function SamlConnection({ saml }: { readonly saml: SAMLConfiguration }) {
  const { t } = useText()
  const { entityId, consumers } = readMetadata(saml.metadataXml)
  const [entity, consumer] = [t("saml.entity_id"), t("saml.acs")]
  return (
    <Section title={t("applications.connect")}>
      <p className="quiet section-lead">{t("saml.later")}</p>
      <Facts
        rows={[
          [entity, <Copyable key="entity" value={entityId} what={entity} />],
          [
            consumer,
            <ul key="acs" className="value-list">
              {consumers.map((address) => (
                <li key={address}>
                  <Copyable value={address} what={consumer} />
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

/** What the metadata that was registered says; the server has read it strictly. */
function readMetadata(xml: Uint8Array) {
  const text = new TextDecoder().decode(xml)
  const { documentElement: entity } = new DOMParser().parseFromString(text, "application/xml")
  const named = [...entity.getElementsByTagNameNS(metadataNs, "AssertionConsumerService")]
  const addresses = named.map((each) => each.getAttribute("Location") ?? "")
  return { entityId: entity.getAttribute("entityID") ?? "", consumers: [...new Set(addresses)] }
}
