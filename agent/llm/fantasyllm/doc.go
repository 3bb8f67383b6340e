// Package fantasyllm asks real models: it adapts the streaming layer of
// charm.land/fantasy to llm.Provider, and the embedded catalogue of
// charm.land/catwalk to what is known about models. No other package imports
// either.
package fantasyllm
