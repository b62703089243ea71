/** The set-up form: the address that the browser uses, and a login name that follows the email. */
export function wireSetup(): void {
  const given = document.querySelector("input[data-browser-origin]")
  if (!(given instanceof HTMLInputElement)) return
  given.value = location.origin
  const address = document.querySelector("input[data-public-url]")
  if (address instanceof HTMLInputElement) fillAddress(address)
  const name = document.querySelector("input[data-follows]")
  if (name instanceof HTMLInputElement) follow(name)
}

/** Behind a proxy with TLS the server sees another scheme, or another port, than the browser. */
function fillAddress(address: HTMLInputElement): void {
  const seen = address.dataset.publicUrl ?? ""
  if (address.value !== seen || seen === location.origin) return
  address.value = location.origin
  for (const place of document.querySelectorAll("[data-browser-address]")) {
    place.textContent = location.origin
    place.closest("[hidden]")?.removeAttribute("hidden")
  }
}

/** Until somebody types another one. */
function follow(name: HTMLInputElement): void {
  const source = name.form?.elements.namedItem(name.dataset.follows ?? "")
  if (!(source instanceof HTMLInputElement)) return
  let isFollowing = name.value === "" || name.value === source.value
  source.addEventListener("input", () => {
    if (isFollowing) name.value = source.value
  })
  name.addEventListener("input", () => {
    isFollowing = name.value === ""
  })
}
