/**
 * Likely causes of a rejected request. The key identifies translations; `{$subject}` is replaced
 * with the subject of the finding.
 */
export const causes = {
  "client.at":
    "No application has this client ID. Client IDs of this server contain no @: use only " +
    "the number before it.",
  "client.unknown":
    "No application has this client ID. It might have been deleted, or belong to another server.",
  "client.document":
    "The client ID is the address of a metadata document. The document must be JSON that " +
    "contains this address as client_id, at most 10 kB, and returned with status 200 " +
    "without a redirect, from a host that this server can reach. The instance must accept " +
    "such clients.",
  "client.inactive": "The application is deactivated.",
  "client.project_inactive":
    "The application's project, or the organization of the project, is deactivated.",
  "proof.service_user": "The service account doesn't have this secret or key.",
  "proof.method": "The application is registered with another client authentication method.",
  "proof.endpoint":
    "This endpoint accepts fewer methods than the token endpoint: send the client ID and " +
    "the secret in the Authorization header (client_secret_basic), or use " +
    "private_key_jwt.",
  "proof.assertion":
    "The assertion is not valid: check iss, sub, aud, exp, kid and the key it is signed with.",
  "proof.secret":
    "The client secret is wrong. It might have been replaced, truncated or encoded twice.",
  "code.not_ours":
    "This is not an authorization code of this server. It might be truncated or encoded.",
  "code.over": "The authorization code expired long ago.",
  "code.other_client": "The authorization code was issued to another client.",
  "code.used": "The authorization code was already used. The application might send it twice.",
  "code.old":
    "The authorization code had expired when it arrived. Check for delays between the " +
    "application and this server.",
  "verifier.unasked": "The authorization request contained no code_challenge.",
  "verifier.missing":
    "code_verifier is missing, but the authorization request contained a code_challenge.",
  "verifier.challenge": "The application sent the code_challenge instead of the code_verifier.",
  "verifier.other":
    "The code_verifier doesn't match the code_challenge. The application might mix up sessions.",
  "refresh.not_ours":
    "This is not a refresh token of this server. It might be truncated or encoded.",
  "refresh.over": "The refresh token expired long ago.",
  "refresh.other_client": "The refresh token was issued to another client.",
  "refresh.ended":
    "The refresh token was revoked, or an earlier one was used again after it was replaced.",
  "refresh.expired":
    "The refresh token has expired: it was unused for too long, or has reached its " +
    "maximum lifetime.",
  "refresh.stopped": "The user, the application or the organization is no longer active.",
  "assertion.no_jwt": "This is not a JWT.",
  "assertion.key": "The user named by iss has no key with this ID.",
  "assertion.app_key": "The application has no key with this ID.",
  "assertion.clock": "The sender's clock is wrong.",
  "assertion.other":
    "The assertion is older than an hour, was used before, or has a wrong signature.",
  "object.unsigned":
    "A request object must be signed with a private key whose public key is registered.",
  "object.other":
    "The claims of the request object are valid. Check that it is signed with the " +
    "registered key and that no parameter contradicts the query.",
  "hint.other_client": "The id_token was issued to a client other than the one in the request.",
  "hint.changed":
    "The id_token was modified, is not an ID token, or its signing key is no longer published.",
  "hint.back_end_off":
    "The application does not accept sign-out from its back end. Turn it on in the " +
    "application's settings, under Logout.",
  "hint.no_session": "The session of the id_token belongs to another user.",
  "pushed.not_ours": "This is not a request_uri of this server. It might be truncated or encoded.",
  "pushed.other_client": "Another client pushed this request.",
  "pushed.used": "The request_uri was already used. The page might have been reloaded.",
  "pushed.old": "The request_uri had expired when the browser arrived. It is valid for one minute.",
  "device.old": "The user took too long, so the code has expired.",
  "token.not_ours":
    "This is not a valid token of this server. It might be truncated, expired or issued " +
    "by another server.",
  "token.revoked": "The token was revoked.",
  "token.ended":
    "The grant of the token was revoked, or the user signed out or is no longer active.",
  "token.bound":
    "The token is bound to a key. Send it with the scheme DPoP and a proof instead of Bearer.",
  "token.unbound": "The token is not bound to a key. Send it with the scheme Bearer.",
  "token.audience": "The token was issued to another client and is not valid for this one.",
  "token.exchanged": "The token has reached the maximum number of exchanges.",
  "actor.may_not":
    "The actor can't act for this user: impersonation must be on for the instance, and " +
    "the actor needs an impersonator role.",
  "dpop.other": "The proof was used before, is signed with another key, or is for another token.",
  "form.type": "Send parameters as a form in the body, not as JSON and not in the query.",
  "value.unknown": "The value is not supported.",
  "resource.unknown":
    "No API has this resource. Add it on the page of an API of the application's project, " +
    "under Resource URIs of the API. A project must be active and written as " +
    "urn:core:iam:org:project:id:ID:aud.",
  "resource.closed":
    "The project was not part of the grant, requires a role that the user lacks, or " +
    "belongs to another organization.",
  "parameter.repeated":
    "The parameter was sent more than once. Check whether a part of the address is added twice.",
  "response_type.unregistered": "The application is not registered for this response type.",
  "grant_type.unregistered": "The application is not registered for this grant type.",
  "pkce.plain": "Only S256 is accepted: plain offers no protection (RFC 9700 §2.1.1).",
  "pkce.missing": "An application without a secret must use PKCE: turn it on in its library.",
  "pkce.required":
    "The application or its organization requires PKCE: turn PKCE on in the application's " +
    "library, or set it to optional in the application's settings.",
  "scope.more": "The request contains scopes that were not granted before.",
  "scope.words":
    "Scopes must be separated by spaces, and openid must be one of them, unless “Plain " +
    "OAuth 2.0” is on for the application.",
  "provider.domain":
    "The identity provider is not allowed to create accounts for this email domain. Check " +
    "its allowed domains.",
  "provider.unverified":
    "The identity provider sent no verified email address, and its allowed domains require one.",
  "provider.alg":
    "The provider signs with an algorithm that is not accepted, or that its discovery " +
    "document does not list.",
  "provider.at_hash": "The ID token was issued with another access token.",
  "provider.aud":
    "The token was issued to another client: compare the client ID with the one at the provider.",
  "provider.azp":
    "The token was issued to another client, although it lists this one: compare the " +
    "client ID with the one at the provider.",
  "provider.exp":
    "The token has expired or is not valid yet: compare the clocks of the provider and of " +
    "this server.",
  "provider.iss":
    "The token names another issuer: compare the issuer of the provider character by character.",
  "provider.nonce": "The token belongs to another sign-in. The provider might reuse tokens.",
  "provider.nonce_missing":
    "The provider returns no nonce. If it doesn't support it, turn on “Accept ID tokens " +
    "without a nonce”.",
  "provider.other_aud":
    "The token is also for other audiences and names no authorized party (azp). If you " +
    "trust them, turn on “Accept ID tokens for several audiences”.",
  "provider.saml_audience":
    "The assertion is for another audience: enter the entity ID from our metadata at the provider.",
  "provider.saml_confirmation":
    "The assertion is confirmed for another recipient, request or time: compare the ACS " +
    "URL at the provider with the one in our metadata, and the clocks.",
  "provider.saml_destination":
    "The response was sent to another address: enter the ACS URL from our metadata at the " +
    "provider.",
  "provider.saml_encryption":
    "The assertion can't be decrypted: import our current metadata at the provider. " +
    "AES-CBC is accepted only if the response is signed, too.",
  "provider.saml_in_response_to":
    "The response belongs to another request. Sign-ins that begin at the provider are not " +
    "accepted.",
  "provider.saml_issuer":
    "The response is from another provider: compare the entity ID in its metadata " +
    "character by character.",
  "provider.saml_name_id":
    "The assertion has no readable NameID. Configure the provider to send an unencrypted one.",
  "provider.saml_signature":
    "None of the keys in the provider's metadata has signed the response. Update the metadata.",
  "provider.saml_status":
    "The provider reports that no user was signed in. See its log for the reason.",
  "provider.saml_time":
    "The response has expired or is not valid yet: compare the clocks of the provider and " +
    "of this server.",
  "provider.saml_version": "Only SAML 2.0 is supported.",
  "provider.signature":
    "None of the keys that the provider publishes has signed the token, even after the " +
    "keys were reloaded.",
  "provider.sub": "The provider sent no usable user ID.",
  "provider.userinfo_sub": "The profile and the ID token identify different users.",
  "address.none": "The application has no registered {$subject}.",
  "address.space": "There is an extra space at the beginning or the end.",
  "address.slash":
    "Only the slash at the end differs: addresses are compared character by character.",
  "address.case":
    "Only uppercase and lowercase letters differ: addresses are compared character by character.",
  "address.scheme":
    "One address uses http, the other https. Behind a proxy, the application might not " +
    "know its own address.",
  "address.port":
    "Only the port differs. Only native applications can choose a port, on the user's own " +
    "computer.",
  "address.local":
    "localhost, 127.0.0.1 and [::1] are different addresses: register the one that is used.",
  "address.www": "Only one of them begins with www.",
  "address.encoded":
    "One address is percent-encoded. The application might encode it once too often, or " +
    "not at all.",
  "address.query": "Only the query differs: it is part of the address.",
  "address.fragment": "The address contains a fragment (#), which is not allowed.",
  "address.exposed":
    "Others can read plain http. Use https, or allow http (private networks, development mode).",
  "address.host":
    "The path matches, but the host differs. Check that this is the right application.",
  "address.path": "The host matches, but the path differs.",
} as const

export type Cause = keyof typeof causes

/** A likely cause, as a key and as a sentence. */
export const likelyCauseOf = (subject: string, likelyCauseKey: Cause) => ({
  likelyCauseKey,
  likelyCause: causes[likelyCauseKey].replace("{$subject}", subject),
})
