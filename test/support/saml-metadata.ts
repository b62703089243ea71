const basic = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic"
const uri = "urn:oasis:names:tc:SAML:2.0:attrname-format:uri"

/** Metadata of a service provider as pysaml2 writes it for Synapse, which requires a `uid`. */
export const createSynapseMetadata = (at: string): string => `<ns0:EntityDescriptor
  xmlns:ns0="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${at}/metadata.xml">
  <ns0:SPSSODescriptor AuthnRequestsSigned="false" WantAssertionsSigned="true"
    protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <ns0:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
      Location="${at}/authn_response" index="1" />
    <ns0:AttributeConsumingService index="1">
      <ns0:ServiceName xml:lang="en">Synapse</ns0:ServiceName>
      <ns0:RequestedAttribute Name="uid" NameFormat="${basic}" isRequired="true" />
      <ns0:RequestedAttribute Name="urn:oid:0.9.2342.19200300.100.1.3" NameFormat="${uri}"
        FriendlyName="mail" isRequired="false" />
      <ns0:RequestedAttribute Name="urn:oid:2.5.4.42" NameFormat="${uri}" FriendlyName="givenName"
        isRequired="false" />
      <ns0:RequestedAttribute Name="urn:x-unknown" NameFormat="${uri}" isRequired="false" />
    </ns0:AttributeConsumingService>
  </ns0:SPSSODescriptor>
</ns0:EntityDescriptor>`
