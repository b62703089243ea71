/** The setup form: the browser's URL, and a login name that follows the email address. */
export function wireSetup(): void {
  const originInput = document.querySelector("input[data-browser-origin]")
  if (!(originInput instanceof HTMLInputElement)) return
  originInput.value = location.origin
  const address = document.querySelector("input[data-public-url]")
  if (address instanceof HTMLInputElement) fillAddress(address)
  const name = document.querySelector("input[data-follows]")
  if (name instanceof HTMLInputElement) syncLoginName(name)
}

/** Behind a TLS proxy, the server sees a different scheme or port than the browser. */
function fillAddress(address: HTMLInputElement): void {
  const requestUrl = address.dataset.publicUrl ?? ""
  if (address.value !== requestUrl || requestUrl === location.origin) return
  address.value = location.origin
  for (const element of document.querySelectorAll("[data-browser-address]")) {
    element.textContent = location.origin
    element.closest("[hidden]")?.removeAttribute("hidden")
  }
}

/** Until the user enters a different one. */
function syncLoginName(name: HTMLInputElement): void {
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
