/**
 * What is probably wrong when a request is refused. The key is for catalogues of other languages;
 * `{$subject}` stands for what the finding is about.
 */
export const causes = {
  "client.at": "No application has this id. Client ids have no @ here: take the number before it.",
  "client.unknown": "No application has this id: was it removed, or is it one of another server?",
  "client.document":
    "The client is the address of a document. It must be JSON that names this very address, at " +
    "most 10 kB, answered with 200 and without a redirect, from a host that this server may " +
    "reach; and the instance must take such clients.",
  "client.inactive": "The application is deactivated.",
  "client.project_inactive":
    "The application's project, or the organisation of the project, is deactivated.",
  "proof.service_user": "The service user has no such secret or key (any more).",
  "proof.method": "The application is registered with another method.",
  "proof.endpoint":
    "This endpoint accepts fewer methods than the token endpoint: send the client ID and the " +
    "secret in the Authorization header (client_secret_basic), or use private_key_jwt.",
  "proof.assertion":
    "The assertion is not valid: check iss, sub, aud, exp, kid and the key it is signed with.",
  "proof.secret": "The secret is another one: was it replaced, cut off, or encoded twice?",
  "code.not_ours": "This is no code of ours: is it cut off or encoded?",
  "code.over": "The code is long over.",
  "code.other_client": "The code was given to another client.",
  "code.used": "The code was used before: does the application send it twice?",
  "code.old": "The code was too old when it came: is something slow in between?",
  "verifier.unasked": "There was no code_challenge at the authorization endpoint.",
  "verifier.missing": "It is missing, and there was a code_challenge.",
  "verifier.challenge": "The code_challenge was sent, instead of the verifier that it was made of.",
  "verifier.other": "It is not the one that the code_challenge was made of: is a session mixed up?",
  "refresh.not_ours": "This is no refresh token of ours: is it cut off or encoded?",
  "refresh.over": "It is long over.",
  "refresh.other_client": "It was given to another client.",
  "refresh.ended": "It was revoked, or an older one was used again after it was replaced.",
  "refresh.expired": "It has expired: nobody used it for too long, or it is too old.",
  "refresh.stopped": "The person, or what it hangs from, may not sign in any more.",
  "assertion.no_jwt": "This is no JWT.",
  "assertion.key": "The user that iss names has no key with this id (any more).",
  "assertion.app_key": "The application has no key with this id (any more).",
  "assertion.clock": "The clock of the sender is wrong.",
  "assertion.other": "It is older than an hour, was used before, or is signed otherwise.",
  "object.unsigned":
    "A request object is signed with a private key whose public half is registered.",
  "object.other":
    "Its claims fit: is it signed with that key, and does no parameter contradict the address?",
  "hint.other_client": "The id_token was given to another client than the one that is named.",
  "hint.changed":
    "It was changed on its way, is no id_token, or the key that signed it is no longer published.",
  "hint.back_end_off":
    "The application does not accept sign-out from its back end. " +
    "Turn it on under Signing out, in the application's settings.",
  "hint.no_session": "The session of the id_token is another user's.",
  "pushed.not_ours": "This is no request_uri of ours: is it cut off or encoded?",
  "pushed.other_client": "Another client has pushed it.",
  "pushed.used": "It was used before: is the page loaded again?",
  "pushed.old": "It was too old when the browser came: it is good for a minute.",
  "device.old": "The person took too long: the code has expired.",
  "token.not_ours":
    "This is no token of ours that still counts: is it cut off, of another server, or expired?",
  "token.revoked": "It was revoked.",
  "token.ended":
    "What it hangs from was revoked, or the person signed out or may not sign in any more.",
  "token.bound": "It is bound to a key: it must come as DPoP, with a proof, and not as Bearer.",
  "token.unbound": "It is bound to no key: it must come as Bearer.",
  "token.audience": "It was given to another client, and is not meant for this one.",
  "token.exchanged": "It has come through as many exchanges as a token may.",
  "actor.may_not":
    "They may not act for this person: the instance must allow it, and they need a role for it.",
  "dpop.other":
    "It was used before, is signed with another key than its own, or is for another token.",
  "form.type": "Parameters come as a form in the body: not as JSON, and not in the address.",
  "value.unknown": "It is not one of the values that there are.",
  "resource.unknown":
    "No API has this resource. Add it on the page of an API of the application's project, under " +
    "Addresses of the API. A project is an active one, written as " +
    "urn:core:iam:org:project:id:ID:aud.",
  "resource.closed":
    "The project was not granted with it, is closed to the user, or is another organisation's.",
  "parameter.repeated": "A parameter may be sent once: is a part of the address added twice?",
  "response_type.unregistered": "The application is not registered for this response type.",
  "grant_type.unregistered": "The application is not registered for this grant type.",
  "pkce.plain": "Only S256 is accepted: plain protects nothing (RFC 9700 §2.1.1).",
  "pkce.missing": "An application without a secret must use PKCE: turn it on in its library.",
  "pkce.required":
    "The application or its organization requires PKCE: turn PKCE on in the application's " +
    "library, or set it to optional in the application's settings.",
  "scope.more": "The scope asks for more than was granted before.",
  "scope.words":
    "Words are separated by spaces, and openid must be one of them, unless “Plain OAuth 2.0” is " +
    "on for the application.",
  "provider.domain":
    "The identity provider is set up not to create accounts for this email domain: check its " +
    "allowed domains.",
  "provider.unverified":
    "The identity provider sent no verified email address, and its allowed domains require one.",
  "provider.alg":
    "The provider signs with an algorithm that is not accepted, or that its discovery " +
    "document does not list.",
  "provider.at_hash": "The ID token was issued with another access token.",
  "provider.aud":
    "The token was issued to another client: compare the client ID with the one at the " +
    "provider.",
  "provider.azp":
    "The token was issued to another client, although it lists this one: compare the client " +
    "ID with the one at the provider.",
  "provider.exp":
    "The token has expired or is not valid yet: compare the clocks of the provider and of " +
    "this server.",
  "provider.iss":
    "The token names another issuer: compare the issuer of the provider character by " +
    "character.",
  "provider.nonce": "The token belongs to another sign-in: does the provider reuse tokens?",
  "provider.nonce_missing":
    "The provider returns no nonce. If it doesn't support it, turn on “Accept ID tokens " +
    "without a nonce”.",
  "provider.other_aud":
    "The token is also for other audiences and names no authorized party (azp). If you trust " +
    "them, turn on “Accept ID tokens for several audiences”.",
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
    "The assertion has no readable NameID: have the provider send one, unencrypted.",
  "provider.saml_signature":
    "None of the keys in the provider's metadata has signed the response: update the metadata.",
  "provider.saml_status": "The provider states that nobody was signed in: its log says why.",
  "provider.saml_time":
    "The response has expired or is not valid yet: compare the clocks of the provider and " +
    "of this server.",
  "provider.saml_version": "Only SAML 2.0 is supported.",
  "provider.signature":
    "None of the keys that the provider publishes has signed the token, also after they were " +
    "read again.",
  "provider.sub": "The provider sent no usable user ID.",
  "provider.userinfo_sub": "The profile is about another user than the ID token.",
  "address.none": "The application has no {$subject} registered.",
  "address.space": "A space at the beginning or the end is too much.",
  "address.slash":
    "Only the slash at the end differs: addresses are compared character by character.",
  "address.case":
    "Only capital and small letters differ: addresses are compared character by character.",
  "address.scheme":
    "One is http, the other https. Behind a proxy, the application may not know its own address.",
  "address.port":
    "Only the port differs. Only native applications may choose one, on their own machine.",
  "address.local":
    "localhost, 127.0.0.1 and [::1] are different addresses: register the one that is used.",
  "address.www": "Only one of them begins with www.",
  "address.encoded":
    "One of them is percent-encoded: the application encodes once too often, or not at all.",
  "address.query": "Only the query differs: it is part of the address.",
  "address.fragment": "There is a fragment (#), which no address may have.",
  "address.exposed":
    "Plain http can be read on the way: use https, or allow it (private networks, development).",
  "address.host":
    "The path is right, but it belongs to another host: is that the right application?",
  "address.path": "The host is right, the path is another one.",
} as const

export type Cause = keyof typeof causes

/** A probable cause, as a key and in a sentence. */
export const because = (subject: string, likelyCauseKey: Cause) => ({
  likelyCauseKey,
  likelyCause: causes[likelyCauseKey].replace("{$subject}", subject),
})
