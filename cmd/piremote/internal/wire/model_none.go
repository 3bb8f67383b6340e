//go:build noproviders

package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/piremote/piremote/config"
)

// modelOf knows no provider: their libraries are half of what has to be built, and
// the demonstration asks no model.
func modelOf(_ context.Context, _ *config.Config, name, id string, _ func(string) string) (Model, error) {
	return Model{}, fmt.Errorf("model %s/%s can't be asked: this program was built without model providers; make build builds one with them", name, id)
}

// ModelProviders knows none.
func ModelProviders(*config.Config, func(string) string) ([]ModelProvider, error) {
	return nil, errors.New("this program was built without model providers and knows no models; make build builds one with them")
}
