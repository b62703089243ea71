/** Password rules by the names in the list; the server enforces the same ones. */
const tests: Readonly<Record<string, (plain: string, minLength: number) => boolean>> = {
  length: (plain, minLength) => [...plain].length >= minLength,
  lowercase: (plain) => /\p{Ll}/u.test(plain),
  uppercase: (plain) => /\p{Lu}/u.test(plain),
  number: (plain) => /\p{Nd}/u.test(plain),
  symbol: (plain) => /[^\p{L}\p{N}]/u.test(plain),
}

/**
 * Marks the rules that the password meets, on every input. A form with an invalid password isn't
 * submitted: the browser reports the first missing rule and keeps the input.
 */
export function wirePasswordRules(list: Element): void {
  const input = list.closest(".field")?.querySelector("input")
  if (!(list instanceof HTMLElement) || !input) return
  const minLength = Number(list.dataset.passwordRules)
  const rules = [...list.querySelectorAll<HTMLElement>("[data-rule]")]
  const check = () => {
    const unmet = rules.filter((rule) => {
      const isMet = tests[rule.dataset.rule ?? ""]?.(input.value, minLength) ?? true
      rule.toggleAttribute("data-met", isMet)
      return !isMet
    })
    input.setCustomValidity(input.value === "" ? "" : (unmet[0]?.textContent ?? ""))
  }
  input.addEventListener("input", check)
  // Password managers may fill the field before the page is ready.
  check()
}
